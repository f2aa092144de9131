import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { type DecodedJwt, decodeJwt } from "@edge-op/protocol/jwt/decode-claims";
import { OAuthError, UnavailableError } from "@edge-op/protocol/oauth/errors";
import { settle } from "@edge-op/shared/control/settle";
import { endSession } from "@edge-op/shared/endings/endings";
import { JsonResponse } from "@edge-op/shared/http/json-response";
import { readForm } from "@edge-op/shared/http/read-form";
import { log } from "@edge-op/shared/runtime/log";
import {
  type EndedByUpstream,
  endedAtOnce,
  listEnded,
  recordEnding,
} from "@edge-op/shared/sessions/upstream-statements";
import { deleteUserSessions } from "@edge-op/shared/sessions/user-sessions";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import type { PageRequest } from "../pages/frame.ts";
import { upstreamKinds } from "./kinds.ts";
import { type ExpectedMessage, validateLogoutToken } from "./logout-token.ts";
import { verifySignature } from "./openid.ts";
import { UpstreamUnreachable } from "./provider-fetch.ts";
import { endingOf } from "./statement-keys.ts";

/** Sessions ended concurrently. */
const atOnce = 20;

/**
 * **`POST /upstream/{id}/backchannel-logout`**: an upstream provider says that a session of its own has ended, or all of a person. The sessions here
 * that rest on it, and what was granted in them, are refused everywhere when the response is sent; so is a sign-in that began before. 200 also if
 * there is none; 400 for a token that is not valid; 503 if a store or the provider's keys cannot be reached, and a repetition then completes it.
 *
 * Cost warm: 1 D1 call; 1 fetch each for metadata and keys that are not held. With sessions, for each those of endings.ts. Calls that follow one
 * another: 1 without a session.
 *
 * @see https://openid.net/specs/openid-connect-backchannel-1_0.html#BCActions
 */
export async function backchannelLogout(at: PageRequest, upstreamId: string): Promise<JsonResponse> {
  const { context, isolate, request } = at;
  const token = readForm(request).require("logout_token");
  // Anybody may send one, and each costs a verification.
  isolate.rateShield.countFailedAuthentication(context, request);
  const ending = await settle(context, isolate, async () => {
    const upstream = await isolate.upstreams.find(context, upstreamId);
    if (upstream?.document.backchannel_logout !== true)
      throw new OAuthError("invalid_request", "logout-token-unexpected");
    return endingOf(
      upstream,
      await verifyMessage(at, upstream, token, validateLogoutToken, refuse),
      context.arrivedAtMs,
    );
  });
  isolate.rateShield.discountAuthentication(context, request);
  let ended = await recordEnding(context.env.DB, ending);
  if (ended === undefined) throw refuse("sid is of another sub");
  for (;;) {
    for (let from = 0; from < ended.length; from += atOnce) {
      await Promise.all(ended.slice(from, from + atOnce).map((each) => end(at, upstreamId, each)));
    }
    if (ended.length < endedAtOnce) return new JsonResponse({});
    ended = await listEnded(context.env.DB, ending.keys);
  }
}

function refuse(detail: string): OAuthError {
  return new OAuthError("invalid_request", "logout-token-invalid", { detail });
}

/**
 * **Verifies a message of an upstream provider**: the claims before the signature, so that what is not for this provider costs no fetch. Cost: that
 * of the signature.
 */
export async function verifyMessage<Claims extends object>(
  at: PageRequest,
  upstream: Upstream,
  token: string,
  validate: (decoded: DecodedJwt, expected: ExpectedMessage) => Claims | { readonly fault: string },
  refuse: (fault: string) => OAuthError,
): Promise<Claims> {
  const { upstreamId, document } = upstream;
  const { context } = at;
  const decoded = decodeJwt(token);
  if (decoded === undefined) throw refuse("no signed JWT");
  const issuer = upstreamKinds[document.kind].issuerOf(document);
  const expected = { issuer, clientId: document.client_id, nowSeconds: toSeconds(context.arrivedAtMs) };
  const claims = validate(decoded, expected);
  if ("fault" in claims) throw refuse(claims.fault);
  try {
    await verifySignature(at, upstream, token);
    return claims;
  } catch (error) {
    if (error instanceof OAuthError || error instanceof UnavailableError) throw error;
    if (!(error instanceof UpstreamUnreachable)) throw refuse("signature");
    log("upstream-failed", { upstreamId, cause: error.message, requestId: context.requestId });
    throw new UnavailableError("keys of the upstream provider", error);
  }
}

async function end(
  { context, isolate }: PageRequest,
  upstreamId: string,
  { sid, sub }: EndedByUpstream,
): Promise<void> {
  const ended = await endSession(context, isolate, { sid }, `signed out at the upstream provider ${upstreamId}`);
  // One that is being opened: it is refused by its object, and not listed any more.
  if (ended === undefined) await deleteUserSessions(context.env.DB, sub, [sid]);
}
