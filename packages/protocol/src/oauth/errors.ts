/**
 * **The three kinds of failure**: refusals (the caller's fault, {@link OAuthError}), unavailability (a store did not respond, {@link
 * UnavailableError}), and everything else, which is a bug. `http/failure.ts` turns them into responses. Wire text is fixed per code; `reason`, a
 * stable code, and `detail` go to the log, never to the caller.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-5.2
 */

import { isRefusalReason, type RefusalReason, refusalReasons } from "./refusal-reasons.ts";

export const wireDescriptions = {
  // RFC 6749 §5.2
  invalid_request: "The request is missing a parameter, repeats one, or is malformed.",
  invalid_client: "Client authentication failed.",
  invalid_grant: "The grant is invalid, expired, revoked, or was issued to another client.",
  unauthorized_client: "The client is not allowed to use this grant.",
  unsupported_grant_type: "The grant type is not supported.",
  invalid_scope: "The scope is invalid, unknown, malformed, or exceeds the allowed scope.",
  // RFC 8693 §2.2.2, RFC 8707 §2
  invalid_target: "The requested audience or resource is not allowed.",
  // RFC 9396 §5
  invalid_authorization_details: "The authorization_details are unknown, malformed, or exceed the allowed access.",
  // RFC 6750 §3.1
  invalid_token: "The access token is invalid, expired, or revoked.",
  insufficient_scope: "The access token lacks the required scope.",
  // RFC 9470 §3
  insufficient_user_authentication: "The access token needs a stronger sign-in of its user.",
  // RFC 6749 §4.1.2.1
  access_denied: "The request was denied.",
  unsupported_response_type: "The response type is not supported.",
  // RFC 8628 §3.5
  authorization_pending: "The user has not completed the authorization yet.",
  slow_down: "The device polls too often: wait five seconds longer between requests.",
  expired_token: "The device code has expired: request a new one.",
  // RFC 9449 §5, §8
  invalid_dpop_proof: "The DPoP proof is invalid.",
  use_dpop_nonce: "The DPoP proof must contain the nonce of the DPoP-Nonce header.",
  // OIDC Core §3.1.2.6
  login_required: "The request requires the end-user to sign in.",
  interaction_required: "The request requires an interaction with the end-user.",
  consent_required: "The request requires the end-user's consent.",
  account_selection_required: "The request requires the end-user to select an account.",
  invalid_request_uri: "The request_uri is invalid, expired, or could not be fetched.",
  invalid_request_object: "The request object is invalid.",
  request_uri_not_supported: "The request_uri parameter is not supported.",
  registration_not_supported: "The registration parameter is not supported.",
  unmet_authentication_requirements: "The requested authentication context cannot be met.",
  // RFC 7591 §3.2.2
  invalid_client_metadata: "The client metadata is invalid.",
  invalid_redirect_uri: "A redirection URI is invalid.",
  invalid_software_statement: "The software statement is invalid.",
  unapproved_software_statement: "The software statement's issuer is not trusted.",
  // This provider's own codes, for the admin API and for limits
  not_found: "There is no such resource.",
  conflict: "The resource already exists or was changed concurrently.",
  precondition_failed: "The resource version does not match If-Match.",
  request_too_large: "The request is larger than this endpoint accepts.",
  request_timeout: "The request body did not arrive in time.",
  method_not_allowed: "The method is not allowed for this path.",
  rate_limited: "Too many requests. Try again later.",
} as const;

/** Descriptions of reasons that the request itself shows: they tell its sender nothing about codes, tokens or clients. */
const reasonDescriptions: Partial<Record<RefusalReason, string>> = {
  "verifier-missing": "code_verifier is missing.",
  "verifier-malformed": "code_verifier is malformed: it has 43 to 128 of the characters A-Z, a-z, 0-9, - . _ ~",
};

export type OAuthErrorCode = keyof typeof wireDescriptions;

/** An error in one field of a JSON body, with a `path` such as `redirect_uris[0]`. */
export interface FieldError {
  readonly path: string;
  readonly message: string;
}

export interface OAuthErrorOptions {
  /** HTTP status; default by code. */
  readonly status?: number;
  /** Extra response headers: `WWW-Authenticate`, `Allow`, `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Returned to the caller instead of the fixed text. It may name a parameter or field, but never a secret or a reason that distinguishes tokens. */
  readonly description?: string | undefined;
  /** Details of this request, for the log only; by default the meaning of the reason. Contains no text that the caller chose. */
  readonly detail?: string | undefined;
  /** Every invalid field of a JSON body, returned to the caller as `fields`. */
  readonly fields?: readonly FieldError[];
}

const statusByCode: Partial<Record<OAuthErrorCode, number>> = {
  invalid_client: 401,
  invalid_token: 401,
  insufficient_scope: 403,
  insufficient_user_authentication: 401,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  precondition_failed: 412,
  request_too_large: 413,
  rate_limited: 429,
};

/** **A refusal**: an error of the caller. `reason` and `detail` are only logged. */
export class OAuthError extends Error {
  override readonly name = "OAuthError";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly description: string;
  readonly fields: readonly FieldError[] | undefined;
  readonly code: OAuthErrorCode;
  readonly reason: RefusalReason;
  readonly detail: string;

  constructor(code: OAuthErrorCode, reason: RefusalReason, options: OAuthErrorOptions = {}) {
    const detail = options.detail ?? refusalReasons[reason];
    super(`${code}: ${detail}`);
    this.code = code;
    this.reason = reason;
    this.detail = detail;
    this.status = options.status ?? statusByCode[code] ?? 400;
    this.headers = options.headers ?? {};
    this.description = options.description ?? reasonDescriptions[reason] ?? wireDescriptions[code];
    this.fields = options.fields;
  }
}

/** The refusal of an object. An object of another release may return a reason that this release does not know. */
export function refusalOfObject({
  kind,
  reason,
}: {
  readonly kind: OAuthErrorCode;
  readonly reason: string;
}): OAuthError {
  return isRefusalReason(reason)
    ? new OAuthError(kind, reason)
    : new OAuthError(kind, "refused-by-object", { detail: reason });
}

/** **A store did not respond**: 503 with `Retry-After`. Never a statement about a token, a client or a user. */
export class UnavailableError extends Error {
  override readonly name = "UnavailableError";
  readonly store: string;
  /** Headers of the 503: cookies that the caller needs to repeat the request. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(store: string, cause?: unknown, headers: Readonly<Record<string, string>> = {}) {
    super(`${store} did not respond`, { cause });
    this.store = store;
    this.headers = headers;
  }
}

/** Characters of a value in an error description or in the log. */
const longestShown = 200;

/**
 * **Shortens a value of the request for an error description**, which may only contain characters of RFC 6749 §5.2. The value identifies the error;
 * it is never a token, a code or a secret.
 */
export function shownValue(value: string): string {
  const isShowable = value.length <= longestShown && /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(value);
  return isShowable ? value : "(a value that cannot be shown)";
}

/** **Shortens a value of the request for the log**, in printable ASCII. It is never a token, a code or a secret. */
export function loggedValue(value: string): string {
  const cut = value.length > longestShown ? `${value.slice(0, longestShown)}…` : value;
  return cut.replace(/[^\x20-\x7e…]/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/** Shortens a URI for the log, without user information, query values and fragment, which may contain codes and tokens. */
export function loggedUri(uri: string): string {
  const [, base = "", query, fragment] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(uri) ?? [];
  const names = query
    ?.slice(1)
    .split("&")
    .map((pair) => (pair.includes("=") ? `${pair.slice(0, pair.indexOf("="))}=…` : "…"));
  const shown = base.replace(/^([^/]*:)?\/\/[^/]*@/, "$1//…@");
  return loggedValue(shown + (names === undefined ? "" : `?${names.join("&")}`) + (fragment === undefined ? "" : "#…"));
}
