import { formatScope } from "@edge-op/shared/oauth/scope";
import { presentationType, type TokenType } from "@edge-op/shared/oauth/token-types";
import { type FamilyAccessToken, replayMarginMs } from "@edge-op/shared/objects/refresh-token-rotator";
import { randomBase64Url } from "@edge-op/shared/runtime/bytes";
import { toSeconds } from "@edge-op/shared/runtime/clock";
import type { GrantIdentity } from "@edge-op/shared/sharding/new-grant";
import { formatTokenId, parseTokenId } from "@edge-op/shared/sharding/shard-address";
import { type AccessTokenContent, signAccessToken } from "@edge-op/shared/tokens/access-token";
import type { GrantRequest, TokenResponse } from "../grant.ts";

/** Identity and lifetime of an access token that is not signed yet. */
export type PlannedAccessToken = Pick<
  AccessTokenContent,
  "id" | "grantCreatedAtMs" | "issuedAtSeconds" | "expiresAtSeconds"
>;

/**
 * Plans an access token of the client: a new `jti` on the grant's shard, and the lifetime that the client or the deployment sets.
 * It ends at `notAfterSeconds` at the latest: an exchanged token does not outlive its subject token.
 */
export function planAccessToken(
  { context, client }: Pick<GrantRequest, "context" | "client">,
  { address, grantId, grantCreatedAtMs }: GrantIdentity,
  notAfterSeconds = Number.POSITIVE_INFINITY,
): PlannedAccessToken {
  const issuedAtSeconds = toSeconds(context.arrivedAtMs);
  const lifetimeSeconds = client.metadata.access_token_lifetime ?? context.settings.accessTokenLifetimeSeconds;
  return {
    id: { address, grantId, random: randomBase64Url(12) },
    grantCreatedAtMs,
    issuedAtSeconds,
    expiresAtSeconds: Math.min(issuedAtSeconds + lifetimeSeconds, notAfterSeconds),
  };
}

/** The form in which a refresh family stores the plan, so that a retry gets the same access token. */
export function toFamilyAccessToken(planned: PlannedAccessToken): FamilyAccessToken {
  return {
    jti: formatTokenId(planned.id),
    iatSeconds: planned.issuedAtSeconds,
    expSeconds: planned.expiresAtSeconds,
  };
}

/** When the tokens of a response have expired: the access token, and an ID token that comes with it or with a replay. */
export function tokensEndAtMs({ context }: Pick<GrantRequest, "context">, accessToken: FamilyAccessToken): number {
  const idTokenEndsAtSeconds = toSeconds(context.arrivedAtMs) + context.settings.idTokenLifetimeSeconds;
  return Math.max(accessToken.expSeconds * 1000, idTokenEndsAtSeconds * 1000 + replayMarginMs);
}

export function fromFamilyAccessToken(stored: FamilyAccessToken, grant: GrantIdentity): PlannedAccessToken {
  const id = parseTokenId(stored.jti);
  if (id === undefined) throw new Error(`not a token id: ${stored.jti}`);
  return {
    id,
    grantCreatedAtMs: grant.grantCreatedAtMs,
    issuedAtSeconds: stored.iatSeconds,
    expiresAtSeconds: stored.expSeconds,
  };
}

/**
 * **Issues an access token**; every grant ends here. Signs with the algorithm that the client or the deployment sets, and binds
 * the token to the key that this request has proven, never to that of another token. `issuedTokenType` is the member of a token exchange (RFC 8693 §2.2.1); both of its
 * values mean an access token. Cost: 1 signature.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-5.1
 */
export async function issueAccessToken(
  { context, isolate, client, proof }: Pick<GrantRequest, "context" | "isolate" | "client" | "proof">,
  content: Omit<AccessTokenContent, "clientId" | "cnf">,
  issuedTokenType?: TokenType,
): Promise<TokenResponse> {
  const algorithm = client.metadata.access_token_signed_response_alg ?? context.settings.accessTokenAlgorithm;
  const { clientId } = client;
  const cnf = proof?.cnf;
  return {
    access_token: await signAccessToken(context, isolate, algorithm, { ...content, clientId, cnf }),
    token_type: presentationType(cnf),
    // A replayed refresh repeats a token whose lifetime began earlier.
    expires_in: Math.max(0, content.expiresAtSeconds - toSeconds(context.arrivedAtMs)),
    ...(content.scope.length === 0 ? {} : { scope: formatScope(content.scope) }),
    ...(issuedTokenType === undefined ? {} : { issued_token_type: issuedTokenType }),
  };
}
