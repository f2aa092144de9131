import type { ClaimsRequest } from "@edge-op/shared/oauth/claims-request";

/**
 * **An authorization request that every check has passed**, as it is kept while a person signs in and consents.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest
 */
export interface AuthorizationRequest extends ResponseTarget {
  /** Within what the client registered. */
  readonly scope: readonly string[];
  readonly resources: readonly string[];
  readonly nonce: string | undefined;
  /** S256; `undefined` only for clients that may leave PKCE out. */
  readonly codeChallenge: string | undefined;
  readonly prompt: readonly Prompt[];
  readonly maxAgeSeconds: number | undefined;
  readonly loginHint: string | undefined;
  /** Who must be signed in, as this client knows them: from `id_token_hint` or the `claims` parameter. */
  readonly expectedSubject: string | undefined;
  /** One of these is a must (an essential `acr` claim, OIDC Core §5.5.1.1). */
  readonly requiredAcr: readonly string[] | undefined;
  /** A sign-in by one of these is asked for, and done without if it is not had (OIDC Core §5.5.1.1, RFC 9470 §4). */
  readonly preferredAcr: readonly string[] | undefined;
  readonly claims: ClaimsRequest | undefined;
  readonly uiLocales: readonly string[];
}

/** Where the answer goes. Known before the rest is checked, so that a refusal can be sent there too. */
export interface ResponseTarget {
  readonly clientId: string;
  /** As given. */
  readonly redirectUri: string;
  readonly responseMode: ResponseMode;
  readonly state: string | undefined;
}

export const responseModes = ["query", "form_post", "fragment"] as const;
export type ResponseMode = (typeof responseModes)[number];

export const prompts = ["none", "login", "consent", "select_account"] as const;
export type Prompt = (typeof prompts)[number];

/** Every parameter that /authorize and /par understand; others are ignored (RFC 6749 §3.1). */
export const authorizationParameters = [
  "response_type",
  "client_id",
  "redirect_uri",
  "scope",
  "state",
  "response_mode",
  "nonce",
  "prompt",
  "max_age",
  "ui_locales",
  "id_token_hint",
  "login_hint",
  "acr_values",
  "claims",
  "code_challenge",
  "code_challenge_method",
  "resource",
  "request",
  "request_uri",
  "registration",
] as const;
