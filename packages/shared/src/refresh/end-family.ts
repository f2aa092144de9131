import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { type GrantRevocation, joinPlaces, rowUntilMs } from "../grants/grant-revocation.ts";
import { callObject } from "../storage/call-object.ts";
import type { ShardAddress } from "../storage/shard-address.ts";
import type { FamilyState, RefreshTokenRotatorRpc } from "./refresh-family-rpc.ts";

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
