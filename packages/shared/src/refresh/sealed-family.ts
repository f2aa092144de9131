/**
 * **The family in a refresh token of version 0**: what its row contains from the first use on, encrypted (AES-GCM) and bound to the sealed grant and
 * user of the same token. No row exists before that use, or before the family is ended. Cost: no I/O, microseconds.
 */

import { isNumber, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { packLogin, unpackLogin } from "@edge-op/protocol/oauth/login-context";
import type { GrantIdentity } from "../grants/grant.ts";
import { rowUntilMs } from "../grants/grant-revocation.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { openSealed, sealText } from "../secrets/seal.ts";
import { longestSealedFamily, type ShardAddress } from "../storage/shard-address.ts";
import { type FamilySnapshot, isRefreshFamily, type RefreshFamily } from "./refresh-family-rpc.ts";

/** The state of a family of which no token has been used. `tokensEndAtMs`: when the tokens that were issued with its first one expire. */
export function initialSnapshot(family: RefreshFamily, address: ShardAddress, tokensEndAtMs: number): FamilySnapshot {
  const { scope, resources, grant } = family;
  // The access token that came with version 0 is not repeated: the code that gave it is spent.
  const accessToken = { jti: "", iatSeconds: 0, expSeconds: 0 };
  const places = [{ address: grant.address, untilMs: rowUntilMs(tokensEndAtMs) }];
  const successor = { scope, resources, accessToken, address, operationId: "", places };
  return { family, version: 0, rotatedAtMs: grant.grantCreatedAtMs, replays: 0, status: "live", successor };
}

/** The parts of the token that are not repeated in the sealed family. */
interface Around {
  readonly grant: Pick<GrantIdentity, "grantId" | "address">;
  /** The token's sealed grant and user. */
  readonly sealed: string;
  readonly address: ShardAddress;
}

/** `undefined` for a family that is too long for a token: with long `claims`, authorization details, or lists of scopes and resources. */
export async function sealFamily(
  env: MasterKeyBindings,
  family: RefreshFamily,
  tokensEndAtMs: number,
  sealed: string,
): Promise<string | undefined> {
  const { grant, clientId, scope, resources, expiresAtMs, confirmedBy } = family;
  const text = JSON.stringify([
    ...[grant.grantCreatedAtMs, clientId, scope, resources, expiresAtMs, confirmedBy, tokensEndAtMs],
    ...packLogin(family),
  ]);
  const sealedFamily = await sealText(env, "refresh-seal", text, { bound: sealed });
  return sealedFamily.length <= longestSealedFamily ? sealedFamily : undefined;
}

export async function openFamily(
  env: MasterKeyBindings,
  sealedFamily: string,
  { grant, sealed, address }: Around,
): Promise<FamilySnapshot | undefined> {
  const text = await openSealed(env, "refresh-seal", sealedFamily, sealed);
  if (text === undefined) return undefined;
  const [grantCreatedAtMs, clientId, scope, resources, expiresAtMs, confirmedBy, tokensEndAtMs, ...login] = readStored(
    "family of a refresh token",
    text,
    listOf((_value): _value is unknown => true),
  );
  const family = {
    ...unpackLogin(login),
    grant: { ...grant, grantCreatedAtMs },
    ...{ clientId, scope, resources, expiresAtMs, confirmedBy: confirmedBy ?? undefined, tokensEndAtMs },
  };
  if (!isSealedFamily(family) || !isRefreshFamily(family)) throw new Error("a sealed family has another form");
  const { tokensEndAtMs: endsAtMs, ...initial } = family;
  return initialSnapshot(initial, address, endsAtMs);
}

const isSealedFamily = objectOf<{ readonly tokensEndAtMs: number }>({ tokensEndAtMs: isNumber });
