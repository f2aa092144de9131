/**
 * **The challenges of a protected resource**: `WWW-Authenticate` with everything that a client needs to continue, in one response (RFC 6750 §3, RFC
 * 9728 §5.1, RFC 9449 §7.1, RFC 9470 §3). Texts are fixed, so nothing of a request is repeated.
 */

export type Scheme = "Bearer" | "DPoP";

export type ChallengeError =
  | "invalid_request"
  | "invalid_token"
  | "invalid_dpop_proof"
  | "use_dpop_nonce"
  | "insufficient_scope"
  | "insufficient_user_authentication";

export interface Challenge {
  readonly scheme: Scheme;
  readonly error?: ChallengeError | undefined;
  readonly description?: string | undefined;
  /** Every scope that the operation needs, because clients take the list as complete. */
  readonly scope?: readonly string[] | undefined;
  readonly resourceMetadata: string;
  readonly acrValues?: readonly string[] | undefined;
  readonly maxAgeSeconds?: number | undefined;
  /** Accepted algorithms of proofs (RFC 9449 §7.1). */
  readonly algorithms?: readonly string[] | undefined;
}

const statuses: Readonly<Record<ChallengeError, number>> = {
  invalid_request: 400,
  invalid_token: 401,
  invalid_dpop_proof: 401,
  use_dpop_nonce: 401,
  insufficient_scope: 403,
  insufficient_user_authentication: 401,
};

export function formatChallenge(challenge: Challenge): string {
  const { scheme, error, description, scope, resourceMetadata, acrValues, maxAgeSeconds, algorithms } = challenge;
  const parameters: readonly (readonly [string, string | undefined])[] = [
    ["error", error],
    ["error_description", description],
    ["scope", scope === undefined || scope.length === 0 ? undefined : [...new Set(scope)].join(" ")],
    ["resource_metadata", resourceMetadata],
    ["acr_values", acrValues?.join(" ")],
    ["max_age", maxAgeSeconds === undefined ? undefined : String(maxAgeSeconds)],
    ["algs", scheme === "DPoP" ? algorithms?.join(" ") : undefined],
  ];
  const given = parameters.flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${quotable(value)}"`]));
  return `${scheme} ${given.join(", ")}`;
}

/** RFC 6750 §3: no quotes, backslashes or control characters. */
function quotable(value: string): string {
  return value.replace(/[^\x20-\x7e]+/g, " ").replace(/["\\]/g, "");
}

/** The response of one or several challenges; the first one with an error decides status and body. */
export function challengeResponse(
  challenges: readonly Challenge[],
  more: Readonly<Record<string, string>> = {},
): Response {
  const { error, description } = challenges[0] ?? {};
  const headers = new Headers({ ...noStore, ...more });
  for (const challenge of challenges) headers.append("WWW-Authenticate", formatChallenge(challenge));
  const body = { error: error ?? "invalid_token", error_description: description ?? "An access token is required." };
  return Response.json(body, { status: error === undefined ? 401 : statuses[error], headers });
}

/** The response if the validator could not decide; the client retries with the same token. */
export function unavailableResponse(): Response {
  return Response.json(
    { error: "temporarily_unavailable", error_description: "The token could not be validated. Try again." },
    { status: 503, headers: { ...noStore, "Retry-After": "1" } },
  );
}

export const noStore = { "Cache-Control": "no-store" } as const;
