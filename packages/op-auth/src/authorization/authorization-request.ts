import type { AuthorizationDetails } from "@edge-op/protocol/oauth/authorization-details";
import type { ClaimsRequest } from "@edge-op/protocol/oauth/claims";
import type { Client } from "@edge-op/shared/clients/client";
import type { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";

/**
 * **An authorization request that every check has passed**: what the client requests of the user, however it gets the result. It has no
 * redirect URI: that belongs to {@link CodeRequest}, and a flow without a browser redirect has none.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest
 */
export interface AuthorizationRequest {
  readonly clientId: string;
  /** Limited to what the client registered. */
  readonly scope: readonly string[];
  readonly resources: readonly string[];
  /** `authorization_details` (RFC 9396). */
  readonly authorizationDetails: AuthorizationDetails | undefined;
  /** The organisation for which the person is to act (ADR 72). */
  readonly organization: string | undefined;
  /** The request names none, and the person must choose one. */
  readonly choosesOrganization: boolean;
  readonly prompt: readonly Prompt[];
  readonly maxAgeSeconds: number | undefined;
  readonly loginHint: string | undefined;
  /** The subject that must be signed in, as this client knows it: from `id_token_hint` or the `claims` parameter. */
  readonly expectedSubject: string | undefined;
  /** One of these is required (an essential `acr` claim, OIDC Core §5.5.1.1). */
  readonly requiredAcr: readonly string[] | undefined;
  /** One of these is preferred, and not required (OIDC Core §5.5.1.1, RFC 9470 §4). */
  readonly preferredAcr: readonly string[] | undefined;
  readonly claims: ClaimsRequest | undefined;
  readonly uiLocales: readonly string[];
}

/** A request at /authorize, whose response is a redirect with a code. */
export interface CodeRequest extends AuthorizationRequest, ResponseTarget {
  readonly nonce: string | undefined;
  /** S256; `undefined` only for clients that may omit PKCE. */
  readonly codeChallenge: string | undefined;
  /** The thumbprint of the DPoP key that must redeem the code (RFC 9449 §10). */
  readonly dpopThumbprint: string | undefined;
}

/** Where the response is sent. Known before the other checks, so that refusals are sent there too. */
export interface ResponseTarget {
  /** The value as given in the request. */
  readonly redirectUri: string;
  readonly responseMode: ResponseMode;
  /** The parameters are sent in a signed JWT (JARM). */
  readonly isSigned: boolean;
  readonly state: string | undefined;
}

export const responseModes = ["query", "form_post", "fragment"] as const;
export type ResponseMode = (typeof responseModes)[number];

/** JARM §2.3: the modes with a signed response; `jwt` is the default for `code`. */
export const signedResponseModes = {
  jwt: "query",
  "query.jwt": "query",
  "fragment.jwt": "fragment",
  "form_post.jwt": "form_post",
} as const satisfies Readonly<Record<string, ResponseMode>>;

/** `create` is a prompt where people may sign up. @see https://openid.net/specs/openid-connect-prompt-create-1_0.html */
export const prompts = ["none", "login", "consent", "select_account", "create"] as const;
export type Prompt = (typeof prompts)[number];

/** The parameters of /authorize and /par. Others are ignored (RFC 6749 §3.1). */
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
  "dpop_jkt",
  "resource",
  "authorization_details",
  "organization",
  "request",
  "request_uri",
  "registration",
] as const;

/** **The input of a check.** Each check is one rule: it returns the part of the request that it has checked, or refuses. */
export interface CheckInput {
  readonly context: RequestContext<AuthEnv>;
  readonly isolate: AuthIsolate;
  readonly client: Client;
  readonly parameters: Form;
}
