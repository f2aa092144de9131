import type { StorageBindings } from "../cache/read-through.ts";
import { SharedCall } from "../calls/shared-call.ts";
import { operationId } from "../http/operation-id.ts";
import type { RequestContext } from "../http/request-context.ts";
import { UnavailableError } from "../oauth/errors.ts";
import type {
  FamilySnapshot,
  FamilyState,
  RefreshFamily,
  RefreshTokenRotatorRpc,
  RotateRequest,
  RotateResult,
  Successor,
} from "../objects/refresh-token-rotator.ts";
import { nowMs } from "../runtime/clock.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { callObject, shardStub, withoutTimeLimit } from "../sharding/call-object.ts";
import type { RegionShards } from "../sharding/generation-table.ts";
import { objectName, type ShardAddress } from "../sharding/shard-address.ts";
import type { ShardMap } from "../sharding/shard-map.ts";
import { formatSignedRefreshToken, type RefreshToken, sealFamily } from "../tokens/refresh-token.ts";

/**
 * **The families of refresh tokens, from a Worker's side**: finds the shard, follows a family that moved, sends it to the
 * newest generation when it rotates. Tokens are verified by {@link readRefreshToken} before they get here.
 * Cost: 1 object call each; one more, once per family and generation, when it moves.
 */
export interface RefreshFamilyBindings extends StorageBindings, MasterKeyBindings {
  readonly REFRESH_TOKEN_ROTATOR: DurableObjectNamespace<RefreshTokenRotatorRpc>;
}

type FamilyContext = RequestContext<RefreshFamilyBindings>;

/** What a use of a token asks for. */
export type RefreshUse = Pick<RotateRequest, "clientId" | "cnf" | "scope" | "resources" | "targets" | "accessToken">;

export type Rotation =
  | {
      readonly kind: "rotated" | "replayed";
      readonly family: RefreshFamily;
      readonly successor: Successor;
      readonly refreshToken: string;
    }
  | Extract<RotateResult, { kind: "invalid_grant" | "invalid_scope" | "invalid_target" }>;

export interface RefreshTokenState {
  readonly family: RefreshFamily;
  /** False for a family that was killed, or whose token was reused. */
  readonly live: boolean;
  /** The one token that may be used next; a spent one is inactive although its retry would be answered. */
  readonly current: boolean;
}

/** A family moves to ever newer generations, and tokens are at most as old as the family. */
const mostMoves = 16;

/** Rotations that one call carries: one transaction in the object, some tens of microseconds each. */
const rotationsAtOnce = 64;

/** A rotation on its way to the object, with when its request came in. */
interface WaitingRotation {
  readonly shard: LocatedShard;
  readonly request: RotateRequest;
  readonly arrivedAtMs: number;
}

/** A shard, and the row of the generation table that it was found in. */
interface LocatedShard {
  readonly address: ShardAddress;
  readonly region: RegionShards;
}

export class RefreshFamilies {
  readonly #shardMap: ShardMap;
  /** Of many refreshes at once, those of one shard share a call and a durable commit. */
  readonly #rotations: SharedCall<RefreshFamilyBindings, WaitingRotation, RotateResult>;

  constructor(shardMap: ShardMap) {
    this.#shardMap = shardMap;
    this.#rotations = new SharedCall({
      name: "refresh",
      maxBatch: rotationsAtOnce,
      send: sendRotations,
    });
  }

  /** Starts a family and returns its first token. `issued`: what the grant's first access token is. */
  async create(
    context: FamilyContext,
    family: RefreshFamily,
    issued: Pick<Successor, "scope" | "resources" | "accessToken">,
  ): Promise<string> {
    const address = await this.#shardMap.place(context, "refresh", family.grant.grantId);
    const region = await this.#shardMap.locate(context, "refresh", address);
    if (region === undefined) throw new UnavailableError("refresh", new Error("placed outside the generation table"));
    const successor: Successor = { ...issued, address, operationId: operationId(context) };
    await callObject("refresh", () => rotatorAt(context, { address, region }).create(family, successor));
    const sealed = await sealFamily(context.env, family);
    return formatSignedRefreshToken(context.env, { address, sealed, version: 0 });
  }

  async rotate(context: FamilyContext, token: RefreshToken, use: RefreshUse): Promise<Rotation> {
    const { grant, version, sealed } = token;
    const { refreshGraceSeconds, refreshReplays } = context.settings;
    const rotation = await this.#follow<RotateResult>(context, token.address, async (shard, handover) => {
      const { address } = shard;
      const request: RotateRequest = {
        ...use,
        grantId: grant.grantId,
        version,
        address,
        handover,
        operationId: operationId(context),
        graceMs: refreshGraceSeconds * 1000,
        maxReplays: refreshReplays,
        hopTo: await this.#newerAddress(context, address, grant.grantId),
      };
      const waiting: WaitingRotation = { shard, request, arrivedAtMs: context.arrivedAtMs };
      return this.#rotations.call(context, objectName("refresh", address), waiting);
    });
    if (rotation === undefined) return { kind: "invalid_grant", reason: "retired generation", theft: undefined };
    if ("reason" in rotation) return rotation;
    const { kind, family, successor } = rotation;
    const next = { address: successor.address, sealed, version: rotation.version };
    return { kind, family, successor, refreshToken: await formatSignedRefreshToken(context.env, next) };
  }

  /** The state of a token's family; `undefined` when it is unknown or over. No write. */
  async inspect(context: FamilyContext, token: RefreshToken): Promise<RefreshTokenState | undefined> {
    const state = await this.#follow<FamilyState>(context, token.address, async (shard, handover) => {
      const inspect = async () => rotatorAt(context, shard).inspect(token.grant.grantId);
      const found = await callObject<FamilyState>("refresh", inspect);
      // Between leaving one shard and arriving at the next a family is as it left.
      return found.kind === "unknown" && handover !== undefined ? { kind: "found", snapshot: handover } : found;
    });
    if (state?.kind !== "found") return undefined;
    const { family, status, version } = state.snapshot;
    if (family.expiresAtMs <= context.arrivedAtMs) return undefined;
    return { family, live: status === "live", current: version === token.version };
  }

  /** Ends a token's family, if there is one. The caller revokes the grant as well: its access tokens live on. */
  async kill(context: FamilyContext, token: RefreshToken, reason: string): Promise<void> {
    const { grantId } = token.grant;
    await this.#follow<FamilyState>(context, token.address, (shard, handover) =>
      callObject<FamilyState>("refresh", async () => rotatorAt(context, shard).kill(grantId, reason, handover)),
    );
  }

  /** Asks the shard where the family is now. `undefined`: its generation is over, and so is the family. */
  async #follow<Result extends { readonly kind: string }>(
    context: FamilyContext,
    start: ShardAddress,
    call: (shard: LocatedShard, handover: FamilySnapshot | undefined) => Promise<Result>,
  ): Promise<Exclude<Result, Moved> | undefined> {
    let address = start;
    let handover: FamilySnapshot | undefined;
    for (let moves = 0; moves <= mostMoves; moves += 1) {
      const region = await this.#shardMap.locate(context, "refresh", address);
      // No object is created for an address outside the generation table (G1).
      if (region === undefined) return undefined;
      const result: Result | Moved = await call({ address, region }, handover);
      if (!isMoved(result)) return result as Exclude<Result, Moved>;
      address = result.to;
      handover = result.handover;
    }
    throw new UnavailableError("refresh", new Error("the family moved too often"));
  }

  async #newerAddress(context: FamilyContext, at: ShardAddress, grantId: string): Promise<ShardAddress | undefined> {
    const table = await this.#shardMap.table(context);
    return table.newest("refresh").generation > at.generation ? table.place("refresh", at.region, grantId) : undefined;
  }
}

function rotatorAt(
  { env }: FamilyContext,
  { address, region }: LocatedShard,
): DurableObjectStub<RefreshTokenRotatorRpc> {
  return shardStub(env.REFRESH_TOKEN_ROTATOR, "refresh", address, region);
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
 * A retry that came within the grace is none the worse for what it waited for here: under load it would be a theft that
 * nobody committed. 0 is strict all the same.
 */
function asOfArrival(request: RotateRequest, waitedMs: number): RotateRequest {
  return request.graceMs === 0 ? request : { ...request, graceMs: request.graceMs + Math.max(0, waitedMs) };
}

type Moved = { readonly kind: "moved"; readonly to: ShardAddress; readonly handover: FamilySnapshot };

function isMoved(result: { readonly kind: string }): result is Moved {
  return result.kind === "moved";
}
