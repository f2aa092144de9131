import { formatScope } from "@edge-op/shared/oauth/scope";
import { randomBase64Url } from "@edge-op/shared/runtime/bytes";
import { toSeconds } from "@edge-op/shared/runtime/clock";
import type { GrantIdentity } from "@edge-op/shared/sharding/new-grant";
import { type AccessTokenContent, signAccessToken } from "@edge-op/shared/tokens/access-token";
import type { GrantRequest, TokenResponse } from "../grant.ts";

/**
 * **Issues an access token** for a client: its lifetime, its algorithm, a new `jti` on the grant's shard.
 * Cost: 1 signature.
 */
export type IssueOptions = GrantIdentity &
  Omit<AccessTokenContent, "id" | "clientId" | "issuedAtSeconds" | "expiresAtSeconds" | "grantCreatedAtMs"> & {
    /** The token ends here at the latest, seconds since the epoch: an exchanged token never outlives its subject. */
    readonly notAfterSeconds?: number;
  };

export async function issueAccessToken(
  { context, isolate, client }: Pick<GrantRequest, "context" | "isolate" | "client">,
  options: IssueOptions,
): Promise<TokenResponse> {
  const { grantId, address, notAfterSeconds, ...content } = options;
  const { settings } = context;
  const issuedAtSeconds = toSeconds(context.arrivedAtMs);
  const lifetimeSeconds = client.metadata.access_token_lifetime ?? settings.accessTokenLifetimeSeconds;
  const expiresAtSeconds = Math.min(issuedAtSeconds + lifetimeSeconds, notAfterSeconds ?? Number.POSITIVE_INFINITY);
  const alg = client.metadata.access_token_signed_response_alg ?? settings.accessTokenAlgorithm;
  const accessToken = await signAccessToken(context, isolate, alg, {
    ...content,
    id: { address, grantId, random: randomBase64Url(12) },
    clientId: client.clientId,
    issuedAtSeconds,
    expiresAtSeconds,
  });
  return {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: expiresAtSeconds - issuedAtSeconds,
    ...(content.scope.length === 0 ? {} : { scope: formatScope(content.scope) }),
  };
}
