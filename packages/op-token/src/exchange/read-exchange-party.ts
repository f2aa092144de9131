import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { tokenTypes } from "@edge-op/protocol/oauth/token-types";
import { readAccessToken } from "@edge-op/shared/tokens/access-token";
import { readIdToken } from "@edge-op/shared/tokens/id-token";
import type { GrantRequest } from "../grant-module.ts";
import { unacceptableToken } from "../issuing/unacceptable-token.ts";
import type { ExchangeParty, PresentedToken } from "./exchange-party.ts";
import { isExternal, readExternalParty } from "./external-party.ts";

/** The scope that an ID token proves: it does not contain the claims that the user agreed to share. */
const identityScope = ["openid"];

/**
 * **Verifies a subject or actor token of an exchange.** Accepts access tokens (as such or as `jwt`) and ID tokens of this provider, and JWTs and ID
 * tokens of trusted issuers (external-party.ts); the named type must be that of the presented token. Revocation is checked afterwards, for both
 * tokens.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8693#section-3
 */
export async function readExchangeParty(
  request: GrantRequest<"audience" | "resource">,
  presented: PresentedToken,
): Promise<ExchangeParty> {
  const { context, isolate } = request;
  const { token, type } = presented;
  if (isExternal(presented, context.settings.issuer)) return readExternalParty(request, presented);
  if (type === tokenTypes.accessToken || type === tokenTypes.jwt) {
    const accessToken = await readAccessToken(context, isolate, token);
    if (accessToken !== undefined) return accessToken;
    if (type === tokenTypes.accessToken) throw unacceptableToken("subject-token-invalid");
  }
  if (type === tokenTypes.idToken || type === tokenTypes.jwt) {
    const idToken = await readIdToken(context, isolate, token);
    if (idToken === undefined) throw unacceptableToken("subject-token-invalid");
    return { ...idToken, scope: identityScope, authorizationDetails: undefined };
  }
  throw new OAuthError("invalid_request", "token-type-unsupported", {
    description: "The subject_token_type or actor_token_type is not supported.",
  });
}
