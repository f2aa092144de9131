import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { readIdToken } from "@edge-op/shared/tokens/id-token";
import type { AuthorizationRequest } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";

/**
 * **The subject that the client expects to be signed in**: the `sub` of `id_token_hint` or of the `claims` parameter, which must be equal if
 * both are sent. The hint must be an ID token that this provider issued to this client; it may have expired.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest
 */
export async function checkExpectedSubject(
  { context, isolate, client, parameters }: CheckInput,
  claimedSubject: string | undefined,
): Promise<Pick<AuthorizationRequest, "expectedSubject">> {
  const hint = parameters.get("id_token_hint");
  if (hint === undefined) return { expectedSubject: claimedSubject };
  const idToken = await readIdToken(context, isolate, hint, { acceptExpired: true });
  if (idToken === undefined || !idToken.audiences.includes(client.clientId)) {
    throw refusal("id-token-hint-invalid");
  }
  if (claimedSubject !== undefined && claimedSubject !== idToken.sub) throw refusal("subjects-differ");
  return { expectedSubject: idToken.sub };
}

function refusal(reason: RefusalReason): OAuthError {
  return new OAuthError("invalid_request", reason, { description: "The id_token_hint is not valid." });
}
