import { isSupportedAcr } from "@edge-op/protocol/oauth/authentication-context";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { Session } from "@edge-op/shared/users/session-rpc";
import type { AuthorizationRequest } from "./checks/authorization-request.ts";
import type { InteractionCheckInput, Need } from "./interaction-check.ts";

/**
 * **Whether a person must sign in**: nobody is signed in, the client expects someone else, or the session does not satisfy the request
 * ({@link reasonToSignInAgain}). A sign-in made for this request settles `prompt=login`, a preferred `acr` and `max_age`; if the
 * person or the required `acr` still differs after it, the request is refused.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#Authenticates
 */
export function needsSignIn({ context, request, steps, signedIn }: InteractionCheckInput): Need | undefined {
  if (request.requiredAcr?.every((acr) => !isSupportedAcr(acr))) {
    throw new OAuthError("unmet_authentication_requirements", "acr-unsupported");
  }
  const signIn: Need = { kind: "sign-in", error: "login_required" };
  if (signedIn === undefined) return signIn;
  const { session } = signedIn.use;
  const isFresh = steps.signedInAtMs === session.signedInAtMs;

  const isExpected = request.expectedSubject === undefined || request.expectedSubject === signedIn.subject;
  if (!isExpected && isFresh) throw new OAuthError("login_required", "other-subject-signed-in");
  if (!isExpected) return signIn;

  const reason = reasonToSignInAgain(request, session, context.arrivedAtMs);
  if (reason === "required acr" && isFresh)
    throw new OAuthError("unmet_authentication_requirements", "acr-not-reached");
  return reason === undefined || isFresh ? undefined : signIn;
}

export type ReasonToSignInAgain = "required acr" | "prompt=login" | "preferred acr" | "max_age";

/** Why a session does not satisfy a request, before any sign-in made for it; `undefined` if it does. */
export function reasonToSignInAgain(
  {
    requiredAcr,
    prompt,
    preferredAcr,
    maxAgeSeconds,
  }: Pick<AuthorizationRequest, "requiredAcr" | "prompt" | "preferredAcr" | "maxAgeSeconds">,
  { acr, signedInAtMs }: Session,
  nowMs: number,
): ReasonToSignInAgain | undefined {
  if (requiredAcr !== undefined && !requiredAcr.includes(acr)) return "required acr";
  if (prompt.includes("login")) return "prompt=login";
  // A preference is no reason to refuse a silent request.
  if (preferredAcr !== undefined && !preferredAcr.includes(acr) && !prompt.includes("none")) return "preferred acr";
  return maxAgeSeconds !== undefined && nowMs - signedInAtMs > maxAgeSeconds * 1000 ? "max_age" : undefined;
}
