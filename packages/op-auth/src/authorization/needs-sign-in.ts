import { isSupportedAcr } from "@edge-op/shared/oauth/authentication-context";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import type { InteractionCheckInput, Need } from "./interaction-check.ts";

/**
 * **Must someone sign in?** When nobody is, when the client asks for it (`prompt=login`), when the sign-in is older than
 * `max_age`, when it does not have the `acr` that the client prefers and a page may be shown, when someone else is expected, or
 * when it does not reach the `acr` that is a must. A sign-in made for this very request settles the first four; if the last two
 * still fail, the request is refused.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#Authenticates
 */
export function needsSignIn({ context, request, steps, signedIn }: InteractionCheckInput): Need | undefined {
  if (request.requiredAcr?.every((acr) => !isSupportedAcr(acr))) {
    throw new OAuthError("unmet_authentication_requirements", "no supported acr is enough");
  }
  const signIn: Need = { kind: "sign-in", error: "login_required" };
  if (signedIn === undefined) return signIn;
  const { session } = signedIn.use;
  const isFresh = steps.signedInAtMs === session.signedInAtMs;

  const isExpected = request.expectedSubject === undefined || request.expectedSubject === signedIn.subject;
  if (!isExpected && isFresh) throw new OAuthError("login_required", "someone else signed in than was expected");
  if (!isExpected) return signIn;

  const isEnough = request.requiredAcr === undefined || request.requiredAcr.includes(session.acr);
  if (!isEnough && isFresh) throw new OAuthError("unmet_authentication_requirements", "acr not reached");
  if (!isEnough) return signIn;

  if (isFresh) return undefined;
  if (request.prompt.includes("login")) return signIn;
  const { maxAgeSeconds, preferredAcr } = request;
  const isPreferred = preferredAcr === undefined || preferredAcr.includes(session.acr);
  // A preference is no reason to refuse a silent request.
  if (!isPreferred && !request.prompt.includes("none")) return signIn;
  const ageMs = context.arrivedAtMs - session.signedInAtMs;
  return maxAgeSeconds !== undefined && ageMs > maxAgeSeconds * 1000 ? signIn : undefined;
}
