/**
 * **The hooks of Edge OP**: methods of a Worker of yours that a deployment binds as `HOOKS`. Implement any of them; the setting `ENABLED_HOOKS` names
 * those that are called. Each has a deadline, and its result is checked: a hook that throws, is late or returns anything else is logged as
 * `hook-failed`, and the provider goes on without it or refuses, as the setting says. No result widens a scope, an audience, a lifetime or a subject.
 */
export interface Hooks {
  /** Claims of tokens and of UserInfo, beside those of the provider. */
  claims?(request: ClaimsRequest): readonly HookClaim[] | Promise<readonly HookClaim[]>;
  /** Judges a sign-in whose proofs are complete, before the session is opened. Nothing: it goes on. */
  beforeSignIn?(request: SignInRequest): SignInVerdict | undefined | Promise<SignInVerdict | undefined>;
  /** Called once at most after a person has created an account, in the background: it cannot stop it. */
  afterSignUp?(event: SignUpEvent): void | Promise<void>;
  /** Sends a mail (`MAIL_PROVIDER=hook`). The same `id` may come again, if an earlier result was lost. */
  mail?(mail: HookMail): HookMailResult | Promise<HookMailResult>;
  /** Whether this is the password of a person whose stored hash is `$legacy$`. It is then hashed and stored here. */
  legacyPassword?(request: LegacyPasswordRequest): boolean | Promise<boolean>;
}

/** A person, as stored at the provider. */
export interface HookUser {
  readonly sub: string;
  readonly username: string;
  /** Standard claims (OIDC Core §5.1): `email`, `name` and so on. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Values of declared attributes. */
  readonly attributes: Readonly<Record<string, string | number | boolean | readonly string[]>>;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
}

/** A client, as registered at the provider. */
export interface HookClient {
  readonly client_id: string;
  readonly client_name?: string;
}

export interface ClaimsRequest {
  /** Whether tokens are issued (access token and ID token), or UserInfo responds. */
  readonly endpoint: "token" | "userinfo";
  readonly user: HookUser;
  readonly client: HookClient;
}

/**
 * A claim and where it is contained: in those of `tokens` whose scope has `scope`. A claim of the provider (`sub`, `aud`, `scope`, `roles`, `email`
 * and others) cannot be set, and a value that an administrator mapped to the same name takes its place.
 */
export interface HookClaim {
  /** 1 to 128 letters, digits or `_.:/-`, the first a letter. */
  readonly name: string;
  /** JSON; all claims together have at most 4 KiB, and lists and objects are nested at most four deep. */
  readonly value: unknown;
  /** The scope value that releases it; `openid` by default. */
  readonly scope?: string;
  /** All three by default. */
  readonly tokens?: readonly ("id_token" | "access_token" | "userinfo")[];
  /** The only audiences of access tokens that contain it; all by default. */
  readonly resources?: readonly string[];
}

export interface SignInRequest {
  readonly user: HookUser;
  /** Absent for the person's own account page. */
  readonly client?: HookClient;
  /** The authentication context class of the proofs. */
  readonly acr: string;
  readonly amr: readonly string[];
  /** Where the request came from, as far as the platform knows. */
  readonly address?: string;
  /** ISO 3166-1, in upper case. */
  readonly country?: string;
  readonly userAgent?: string;
}

/** `require`: `mfa` asks for a second factor, `phr` for a passkey. What the client and the deployment require still holds. */
export type SignInVerdict = { readonly refuse: true } | { readonly require: "mfa" | "phr" };

export interface SignUpEvent {
  readonly sub: string;
  readonly username: string;
  readonly claims: Readonly<Record<string, unknown>>;
  /** `upstream`: at another provider. */
  readonly method: "passkey" | "password" | "upstream";
}

export interface HookMail {
  /** The same for each attempt: send a mail with this id once. */
  readonly id: string;
  readonly from: { readonly email: string; readonly name: string };
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/**
 * `retry`: not now. `suppressed`: never to this address. `misconfigured`: no mail at all, until an operator mends it. `problem` is logged, so it must
 * not contain an address.
 */
export type HookMailResult =
  | { readonly kind: "sent"; readonly id?: string }
  | { readonly kind: "retry"; readonly afterMs?: number; readonly problem: string }
  | { readonly kind: "suppressed" | "misconfigured"; readonly problem: string };

export interface LegacyPasswordRequest {
  readonly sub: string;
  readonly username: string;
  readonly password: string;
}
