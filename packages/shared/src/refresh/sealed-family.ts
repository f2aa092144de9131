import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { type GrantRevocation, joinPlaces, rowUntilMs } from "../grants/grant-revocation.ts";
import { callObject } from "../storage/call-object.ts";
import { longestSealedFamily, type ShardAddress } from "../storage/shard-address.ts";
import {
  type FamilySnapshot,
  type FamilyState,
  isRefreshFamily,
  type RefreshFamily,
  type RefreshTokenRotatorRpc,
} from "./refresh-family-rpc.ts";

type Rotator = Pick<RefreshTokenRotatorRpc, "kill">;

/** A family moves at most once per live generation. */
const mostMoves = 16;

/**
 * **Ends the refresh family of a revoked grant**, if it has one, before the grant is revoked: it issues no token after that, and it alone knows at
 * which shards its tokens are revoked. Returns the revocation with these places, and with the grant's own for the tokens that were issued without the
 * family. Throws {@link UnavailableError} if the family's shard does not respond: the places are unknown then. Cost: 1 object call, and 1 per move.
 *
 * `rotatorAt` returns the shard of a family, or `undefined` if its generation was retired, because every family there has expired.
 */
export async function endFamily(
  { family, ...revocation }: GrantRevocation,
  rotatorAt: (address: ShardAddress) => Promise<Rotator | undefined>,
): Promise<GrantRevocation> {
  if (family === undefined) return revocation;
  const state = await kill(revocation, family.address, rotatorAt);
  // The family was not found at its last address, so it could still issue tokens.
  if (state.kind === "moved" || state.kind === "unknown")
    throw new UnavailableError("refresh", new Error("the family moved too often"));
  const own = { address: revocation.grant.address, untilMs: rowUntilMs(family.tokensEndAtMs) };
  const issued = state.kind === "found" ? state.snapshot.successor.places : [];
  return { ...revocation, places: joinPlaces([...issued, own]) };
}

async function kill(
  { grant, reason, untilMs }: GrantRevocation,
  start: ShardAddress,
  rotatorAt: (address: ShardAddress) => Promise<Rotator | undefined>,
): Promise<FamilyState> {
  let address = start;
  let state: FamilyState | undefined;
  for (let moves = 0; moves <= mostMoves; moves += 1) {
    const rotator = await rotatorAt(address);
    if (rotator === undefined) return { kind: "refused" };
    const handover = state?.kind === "moved" ? state.handover : undefined;
    const end = async (): Promise<FamilyState> => rotator.kill(grant.grantId, reason, handover, untilMs);
    state = await callObject("refresh", end);
    if (state.kind !== "moved") return state;
    address = state.to;
  }
  return state ?? { kind: "unknown" };
}

/**
 * **The family in a refresh token of version 0**: what its row contains from the first use on, encrypted (AES-GCM) and bound to the sealed grant and
 * user of the same token. No row exists before that use, or before the family is ended. Cost: no I/O, microseconds.
 */

import { isNumber, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { packLogin, unpackLogin } from "@edge-op/protocol/oauth/login-context";
import type { GrantIdentity } from "../grants/grant.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { openSealed, sealText } from "../secrets/seal.ts";

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
