import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { type EndedGrant, type GrantPlace, type GrantRevocation, joinPlaces } from "../grants/grant-revocation.ts";
import { operationId, type RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { callObject, shardStub, withoutTimeLimit } from "../storage/call-object.ts";
import type { RegionShards } from "../storage/generation-table.ts";
import type { StorageBindings } from "../storage/read-through.ts";
import { objectName, type ShardAddress } from "../storage/shard-address.ts";
import type { ShardMap } from "../storage/shard-map.ts";
import { SharedCall } from "../storage/shared-call.ts";
import {
  boundKey,
  type FamilySnapshot,
  type FamilyState,
  type MovedFamily,
  type RefreshFamily,
  type RefreshTokenRotatorRpc,
  type RefreshUse,
  type Rotated,
  type RotateRequest,
  type RotateResult,
  type RotationRefusal,
  type TakenBack,
  type UncheckedRequest,
  type UncheckedResources,
} from "./refresh-family-rpc.ts";
import { formatSignedRefreshToken, type RefreshToken, sealSubject } from "./refresh-token.ts";
import { endFamily, initialSnapshot, sealFamily } from "./sealed-family.ts";

export interface RefreshFamilyBindings extends StorageBindings, MasterKeyBindings {
  readonly REFRESH_TOKEN_ROTATOR: DurableObjectNamespace<RefreshTokenRotatorRpc>;
}

type FamilyContext = RequestContext<RefreshFamilyBindings>;

export interface RefreshTokenState {
  readonly family: RefreshFamily;
  /** False for a family that was ended or whose token was reused. */
  readonly live: boolean;
  /** The token that may be used next. A used token is inactive, although a retry with it would succeed. */
  readonly current: boolean;
}

/** A family only moves to newer generations, and its tokens are no older than the family. */
const mostMoves = 16;

/** Maximum rotations per call: one transaction in the object, some tens of microseconds each. */
const rotationsAtOnce = 64;

/** A waiting rotation and the arrival time of its request. */
interface WaitingRotation {
  readonly shard: LocatedShard;
  readonly request: RotateRequest;
  readonly arrivedAtMs: number;
}

/** A shard and its row of the generation table. */
interface LocatedShard {
  readonly address: ShardAddress;
  readonly region: RegionShards;
}

/**
 * **Calls the objects that hold refresh families**: finds the shard, follows a family that moved, and moves it to the newest generation when it
 * rotates. Callers have verified tokens with {@link readRefreshToken}. Cost: 1 object call each; one more when the family moves, once per family and
 * generation.
 */
export class RefreshFamilies {
  readonly #shardMap: ShardMap;
  /** Concurrent refreshes of one shard share a call and a durable commit. */
  readonly #rotations: SharedCall<RefreshFamilyBindings, WaitingRotation, RotateResult>;

  constructor(shardMap: ShardMap) {
    this.#shardMap = shardMap;
    this.#rotations = new SharedCall({
      name: "refresh",
      maxBatch: rotationsAtOnce,
      send: sendRotations,
    });
  }

  /**
   * Returns the first token of a family, whose row is written at its first use. `tokensEndAtMs` is when the tokens issued with it expire; `address`
   * is the start address in the grant's record. Cost: 0 calls; 1 object call for a family that is too long for a token.
   */
  async create(
    context: FamilyContext,
    family: RefreshFamily,
    tokensEndAtMs: number,
    address: ShardAddress,
  ): Promise<string> {
    const sealed = await sealSubject(context.env, family);
    const sealedFamily = await sealFamily(context.env, family, tokensEndAtMs, sealed);
    if (sealedFamily === undefined) {
      const initial = initialSnapshot(family, address, tokensEndAtMs);
      const region = await this.#shardMap.locate(context, "refresh", address);
      if (region === undefined) throw new UnavailableError("refresh", new Error("placed outside the generation table"));
      await callObject("refresh", () => rotatorAt(context, { address, region }).create(initial));
    }
    return formatSignedRefreshToken(context.env, { address, sealed, version: 0, sealedFamily });
  }

  async rotate(
    context: FamilyContext,
    token: RefreshToken,
    use: RefreshUse,
  ): Promise<(Rotated & { readonly refreshToken: string }) | UncheckedResources | UncheckedRequest | RotationRefusal> {
    const { grant, version, sealed, sealedFamily } = token;
    const { refreshReplays } = context.settings;
    const rotation = await this.#follow<RotateResult>(context, token, async (shard, handover) => {
      const { address } = shard;
      const request: RotateRequest = {
        ...use,
        grantId: grant.grantId,
        version,
        address,
        handover,
        operationId: operationId(context),
        maxReplays: refreshReplays,
        hopTo: await this.#newerAddress(context, address, grant.grantId),
      };
      const waiting: WaitingRotation = { shard, request, arrivedAtMs: context.arrivedAtMs };
      return this.#rotations.call(context, objectName("refresh", address), waiting);
    });
    if (rotation === undefined)
      return { kind: "invalid_grant", reason: "refresh-generation-retired", theft: undefined };
    if ("reason" in rotation) return rotation;
    const next = { address: rotation.successor.address, sealed, version: rotation.version };
    // A token that is kept stays the same text.
    if (next.version === version)
      return { ...rotation, refreshToken: await formatSignedRefreshToken(context.env, { ...next, sealedFamily }) };
    return { ...rotation, refreshToken: await formatSignedRefreshToken(context.env, next) };
  }

  /**
   * Undoes a rotation with `isUnchecked`, because its request may not be granted. If the shard does not respond, the rotation remains, as if its
   * result had been lost. Cost: 1 object call.
   */
  async takeBack(context: FamilyContext, token: RefreshToken): Promise<void> {
    const { grantId } = token.grant;
    try {
      await this.#follow<TakenBack>(context, token, (shard) => {
        const undo = async () => await rotatorAt(context, shard).takeBack(grantId, operationId(context));
        return callObject<TakenBack>("refresh", undo);
      });
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      log("refresh-not-taken-back", { grantId, cause: String(error.cause), requestId: context.requestId });
    }
  }

  /** The state of a token's family; `undefined` if it is unknown or has ended. Does not write. */
  async inspect(context: FamilyContext, token: RefreshToken): Promise<RefreshTokenState | undefined> {
    const state = await this.#follow<FamilyState>(context, token, async (shard, handover) => {
      const inspect = async () => rotatorAt(context, shard).inspect(token.grant.grantId);
      const found = await callObject<FamilyState>("refresh", inspect);
      if (handover === undefined || found.kind === "found" || found.kind === "moved") return found;
      // A family that has not been used is as in its token; one that moves between two shards is as it left the first.
      const status = found.kind === "refused" ? "killed" : handover.status;
      return { kind: "found", snapshot: { ...handover, status } };
    });
    if (state?.kind !== "found") return undefined;
    const { snapshot } = state;
    const { status, version } = snapshot;
    const family = { ...snapshot.family, cnf: boundKey(snapshot) };
    if (family.expiresAtMs <= context.arrivedAtMs) return undefined;
    return { family, live: status === "live", current: version === token.version };
  }

  /**
   * Ends the family of a token, if it exists. Returns the places of its access tokens, which the caller revokes next; `undefined` without a family,
   * whose tokens have all expired.
   */
  async kill(context: FamilyContext, token: RefreshToken, reason: string): Promise<readonly GrantPlace[] | undefined> {
    const { grantId } = token.grant;
    const state = await this.#follow<FamilyState>(context, token, (shard, handover) =>
      callObject<FamilyState>("refresh", async () => rotatorAt(context, shard).kill(grantId, reason, handover)),
    );
    return state?.kind === "found" ? state.snapshot.successor.places : undefined;
  }

  /** Ends the family of a grant before the grant is revoked. */
  end(context: FamilyContext, revocation: GrantRevocation): Promise<GrantRevocation> {
    return endFamily(revocation, async (address) => {
      const region = await this.#shardMap.locate(context, "refresh", address);
      return region && rotatorAt(context, { address, region });
    });
  }

  /**
   * Like {@link end}, for a grant of which only the id is known: its family can be in one shard of each region and live generation, and its tokens
   * are refused in all of them. `tokensEndAtMs` is when the tokens issued without the family have expired. D1 has each generation before a family is
   * placed in it; this isolate may learn of it later. Cost: 1 D1 call, then 1 object call for each of these shards, in parallel.
   */
  async endWherever(context: FamilyContext, revocation: GrantRevocation, tokensEndAtMs: number): Promise<EndedGrant> {
    const table = await this.#shardMap.newestTable(context);
    const ended = await Promise.all(
      table
        .candidates("refresh", revocation.grant.grantId)
        .map((address) => this.end(context, { ...revocation, family: { address, tokensEndAtMs } })),
    );
    return { ...revocation, places: joinPlaces(ended.flatMap(({ places = [] }) => places)) };
  }

  /** Calls the shard that holds the family now. Returns `undefined` if its generation has been retired, which means that the family has expired. */
  async #follow<Result extends { readonly kind: string }>(
    context: FamilyContext,
    { address: start, initial }: Pick<RefreshToken, "address" | "initial">,
    call: (shard: LocatedShard, handover: FamilySnapshot | undefined) => Promise<Result>,
  ): Promise<Exclude<Result, MovedFamily> | undefined> {
    let address = start;
    let handover = initial;
    for (let moves = 0; moves <= mostMoves; moves += 1) {
      const region = await this.#shardMap.locate(context, "refresh", address);
      // No object is created for an address outside the generation table (G1).
      if (region === undefined) return undefined;
      const result: Result | MovedFamily = await call({ address, region }, handover);
      if (!isMoved(result)) return result as Exclude<Result, MovedFamily>;
      address = result.to;
      handover = result.handover;
    }
    throw new UnavailableError("refresh", new Error("the family moved too often"));
  }

  async #newerAddress(context: FamilyContext, at: ShardAddress, grantId: string): Promise<ShardAddress | undefined> {
    const address = await this.#shardMap.placeAgain(context, "refresh", at, grantId);
    return address === at ? undefined : address;
  }
}

function rotatorAt(
  { env, settings }: FamilyContext,
  { address, region }: LocatedShard,
): DurableObjectStub<RefreshTokenRotatorRpc> {
  return shardStub(settings, env.REFRESH_TOKEN_ROTATOR, "refresh", address, region);
}

async function sendRotations(
  context: FamilyContext,
  waiting: readonly WaitingRotation[],
): Promise<readonly RotateResult[]> {
  const atMs = nowMs();
  const requests = waiting.map(({ request, arrivedAtMs }) => asOfArrival(request, atMs - arrivedAtMs));
  return withoutTimeLimit<readonly RotateResult[]>("refresh", async () =>
    rotatorAt(context, waiting[0]!.shard).rotate(requests),
  );
}

/**
 * Excludes the time that a retry waited here from its grace period: under load, the retry would otherwise be refused as theft. A grace of 0 stays
 * strict.
 */
function asOfArrival(request: RotateRequest, waitedMs: number): RotateRequest {
  return request.graceMs === 0 ? request : { ...request, graceMs: request.graceMs + Math.max(0, waitedMs) };
}

function isMoved(result: { readonly kind: string }): result is MovedFamily {
  return result.kind === "moved";
}
