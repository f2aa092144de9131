import { claimsOf } from "../conformance/fixtures/provider-fixtures.ts";

/** **The objects that tokens depend on**, by name. */

/** Where an access token's revocation is stored. */
export function shardOf(accessToken: string): string {
  const [generation, region, shard] = String(claimsOf(accessToken)["jti"]).split(":");
  return `revocation:${generation}:${region}:${shard}`;
}

/** Where a refresh token's family is stored. */
export function rotatorOf(refreshToken: string): string {
  const [, generation, region, shard] = refreshToken.split(".");
  return `refresh:${generation}:${region}:${shard}`;
}
