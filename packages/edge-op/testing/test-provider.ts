import { createHash, randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { SentMail } from "../src/mailbox.ts";
import { AdminApi, type ApiResponse, basicAuthorization, postForm } from "../src/provider-api.ts";
import type { ServedHooks } from "../src/serve-hooks.ts";
import type { HostConnection } from "./host-connection.ts";
import { type FormInputs, Person } from "./person.ts";

/** **The stores that can fail on request**, by the bindings of the Workers. */
const stores = {
  /** D1: clients, users, consents, credentials. */
  database: ["DB"],
  /** The audit log. */
  audit: ["AUDIT_DB", "AUDIT_QUEUE"],
  /** KV: copies of records. */
  cache: ["CACHE"],
  revocations: ["TOKEN_REVOCATION_STORE", "REVOCATION_RELAY"],
  refreshTokens: ["REFRESH_TOKEN_ROTATOR"],
  /** Authorization codes and device codes. */
  codes: ["AUTHORIZATION_CODE_STORE"],
  sessions: ["SESSION_STORE"],
  /** Pushed requests, sign-ins in progress, ids of assertions. */
  challenges: ["CHALLENGE_STORE"],
  keys: ["KEY_MANAGER"],
  control: ["CONTROL_PLANE"],
  /** The mails that wait to be sent. */
  mail: ["MAIL_SENDER"],
} as const;

export type StoreName = keyof typeof stores;

/** The initial content of a provider: docs/test-provider.md. */
export interface SeedFile {
  /** Metadata in the format of the admin API, by `client_id`; `client_secret` sets a given secret. */
  readonly clients?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** By user name. */
  readonly users?: Readonly<Record<string, SeedUser>>;
  /** Permissions, by role. */
  readonly roles?: Readonly<Record<string, readonly string[]>>;
  /** Resources in the format of the admin API, by `resource_id`. */
  readonly resources?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export interface SeedUser {
  readonly password: string;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
}

export interface TestClient {
  readonly client_id: string;
  /** Empty for a public client. */
  readonly client_secret: string;
  readonly redirect_uris?: readonly string[];
  readonly scope: string;
}

export interface TestUser {
  readonly sub: string;
  readonly username: string;
  readonly password: string;
}

/** The response of `/token`, with the claims of the ID token. */
export interface Tokens {
  readonly access_token: string;
  readonly id_token?: string;
  readonly refresh_token?: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly scope?: string;
  /** The claims of the ID token. Its signature is not verified here, because your application does that. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** The provider's session of the user. */
export interface Session {
  /** The header `Cookie` of a request to the provider. */
  readonly cookie: string;
  /** For `context.addCookies()` of Playwright. */
  readonly cookies: readonly { readonly name: string; readonly value: string; readonly url: string }[];
}

export interface SignedIn extends Tokens {
  readonly session: Session;
}

export interface SignInOptions {
  /** Its id; the first one with a redirect URI by default. */
  readonly client?: string;
  /** All scopes of the client by default, without `offline_access`. */
  readonly scope?: string;
  /** More parameters of the request: `nonce`, `resource`, `max_age`, … */
  readonly parameters?: Readonly<Record<string, string>>;
  /** The user's inputs on a page, by its name, in place of signing in and allowing: `{ consent: { decision: "deny" } }`. */
  readonly inputs?: FormInputs;
}

/** The data of a provider that the host has created. */
export interface CreatedProvider {
  readonly name: string;
  readonly origin: string;
  readonly admin: { readonly client_id: string; readonly client_secret: string };
  readonly clients: Readonly<Record<string, TestClient>>;
  readonly users: Readonly<Record<string, TestUser>>;
}

/** **The provider of a test**: the product with its pages and signatures, and helpers for tests. */
export class TestProvider implements AsyncDisposable {
  readonly issuer: string;
  /** By `client_id`. */
  readonly clients: Record<string, TestClient>;
  /** By user name. */
  readonly users: Record<string, TestUser>;
  readonly #host: HostConnection;
  readonly #created: CreatedProvider;
  readonly #hooks: Pick<ServedHooks, "close"> | undefined;
  #admin: AdminApi;
  #aheadMs = 0;
  /** How many mails to an address `nextMail` has returned. */
  readonly #readMails = new Map<string, number>();

  constructor(host: HostConnection, created: CreatedProvider, hooks?: Pick<ServedHooks, "close">) {
    this.#hooks = hooks;
    this.issuer = created.origin;
    this.clients = { ...created.clients };
    this.users = { ...created.users };
    this.#host = host;
    this.#created = created;
    this.#admin = new AdminApi(created.origin, created.admin);
  }

  /** Calls the admin API, with a path below `/admin`. Throws unless it succeeds. */
  admin(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    return this.#admin.require(method, path, body);
  }

  /** Registers a client with metadata in the format of the admin API. */
  async createClient(metadata: Readonly<Record<string, unknown>>): Promise<TestClient> {
    const created = await this.admin("POST", "/clients", metadata);
    const { client_id, client_secret = "", redirect_uris, scope = "" } = created;
    const client = { client_id, client_secret, redirect_uris, scope } as TestClient;
    this.clients[client.client_id] = client;
    return client;
  }

  async createUser(username: string, user: Partial<SeedUser> = {}): Promise<TestUser> {
    const { password = randomBytes(16).toString("base64url"), ...rest } = user;
    const { sub } = await this.admin("POST", "/users", { username, sub: username, password, ...rest });
    const created = { sub: String(sub), username, password };
    this.users[username] = created;
    return created;
  }

  /**
   * Signs a user in at a client: the code flow with PKCE, over HTTP, with the provider's own pages filled in. Throws the error that the client
   * would receive.
   */
  async signIn(username: string, options: SignInOptions = {}): Promise<SignedIn> {
    const user = this.users[username];
    if (user === undefined) throw new Error(`there is no user ${username}`);
    const client = this.#clientFor(options.client);
    const redirectUri = client.redirect_uris?.[0] ?? "";
    const verifier = randomBytes(32).toString("base64url");
    const scopes = client.scope.split(" ").filter((scope) => scope !== "offline_access");
    const request = {
      response_type: "code",
      client_id: client.client_id,
      redirect_uri: redirectUri,
      scope: options.scope ?? scopes.join(" "),
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
      ...options.parameters,
    };
    const person = new Person(this.issuer, user);
    const { url, body } = await person.visit(
      `${this.issuer}/authorize?${new URLSearchParams(request)}`,
      options.inputs,
    );
    const received = body ?? url.searchParams;
    const code = received.get("code");
    if (code === null) throw new Error(`${received.get("error")}: ${received.get("error_description")}`);
    const form = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
    const { resource } = options.parameters ?? {};
    const tokens = await this.token(client.client_id, resource === undefined ? form : { ...form, resource });
    return { ...tokens, session: this.#sessionOf(person) };
  }

  #clientFor(id: string | undefined): TestClient {
    const all = Object.values(this.clients);
    const found =
      id === undefined
        ? all.find(({ redirect_uris: uris }) => uris !== undefined && uris.length > 0)
        : this.clients[id];
    if (found === undefined)
      throw new Error(id === undefined ? "no client has a redirect URI" : `there is no client ${id}`);
    return found;
  }

  #sessionOf(person: Person): Session {
    const cookies = [...person.cookies].map(([name, value]) => ({ name, value, url: this.issuer }));
    return { cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; "), cookies };
  }

  /** Sends a client's request to `/token`: `token("demo-service", { grant_type: "client_credentials" })`. Throws the error of a refusal. */
  async token(client: string, form: Readonly<Record<string, string>>): Promise<Tokens> {
    const { status, body, text } = await this.#post("/token", client, form);
    if (status !== 200) throw new Error(text);
    const { id_token: idToken } = body;
    const payload = typeof idToken === "string" ? (idToken.split(".")[1] ?? "") : undefined;
    if (payload === undefined) return body as object as Tokens;
    return { ...(body as object as Tokens), claims: JSON.parse(Buffer.from(payload, "base64url").toString()) };
  }

  #post(path: string, id: string, form: Readonly<Record<string, string>>): Promise<ApiResponse> {
    const { client_id, client_secret } = this.#clientFor(id);
    if (client_secret === "") return postForm(this.issuer + path, { ...form, client_id });
    return postForm(this.issuer + path, form, { authorization: basicAuthorization({ client_id, client_secret }) });
  }

  /** Revokes a token, or every grant of a user or a client. It is in force when the call returns. */
  async revoke(
    what: { readonly token: string; readonly client: string } | { readonly user: string } | { readonly client: string },
  ): Promise<void> {
    if ("token" in what) {
      const { status, text } = await this.#post("/revoke", what.client, { token: what.token });
      if (status !== 200) throw new Error(text);
    } else {
      const sub = "user" in what ? (this.users[what.user]?.sub ?? what.user) : undefined;
      await this.admin("POST", "/revocations", "client" in what ? { client_id: what.client } : { sub });
    }
  }

  /** The mails that this provider has sent, the newest first. */
  async mailbox(): Promise<readonly SentMail[]> {
    return (await this.#host.call("GET", `/instances/${this.#created.name}/mailbox`)) as readonly SentMail[];
  }

  /** The next mail to an address; waits up to ten seconds for it. Each mail is returned once. */
  async nextMail(to: string): Promise<SentMail> {
    const known = this.#readMails.get(to) ?? 0;
    const path = `/instances/${this.#created.name}/mailbox`;
    const found = (await this.#host.call("POST", path, { to, known })) as readonly SentMail[];
    const mail = found.at(-1 - known);
    if (mail === undefined) throw new Error(`no mail to ${to} within ten seconds`);
    this.#readMails.set(to, known + 1);
    return mail;
  }

  /** The time of this provider. */
  get now(): Date {
    return new Date(Date.now() + this.#aheadMs);
  }

  /** Moves this provider's clock ahead: tokens, codes, sessions and keys expire as they would. */
  async advance(seconds: number): Promise<void> {
    if (!(seconds >= 0)) throw new Error("a provider's clock moves ahead only");
    await this.#host.call("PUT", `/instances/${this.#created.name}/clock`, seconds * 1000);
    this.#aheadMs += seconds * 1000;
    this.#admin = new AdminApi(this.#created.origin, this.#created.admin);
    await this.#awaitSigner();
  }

  /** Where the keys have expired meanwhile, nothing is signed until new ones are in force. */
  async #awaitSigner(): Promise<void> {
    for (let attempt = 0; attempt < 15; attempt += 1) {
      const { ok } = await fetch(`${this.#created.origin}/ready`);
      if (ok) return;
      // An isolate does not ask for the keys again within a second.
      await setTimeout(1_000);
    }
  }

  /** Makes these stores fail from now on, as if they were unreachable; without names, none fails. */
  async fail(...names: readonly StoreName[]): Promise<void> {
    const bindings = names.flatMap((name) => stores[name]);
    await this.#host.call("PUT", `/instances/${this.#created.name}/failing`, bindings);
  }

  async close(): Promise<void> {
    await this.#host.call("DELETE", `/instances/${this.#created.name}`);
    this.#hooks?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
