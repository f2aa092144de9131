import { UnavailableError } from "../../packages/protocol/src/oauth/errors.ts";
import { controlPlane } from "../../packages/shared/src/control/commit-control-change.ts";
import { controlCallMs } from "../../packages/shared/src/control/control-plane-rpc.ts";
import { readsBegun, settle } from "../../packages/shared/src/control/settle.ts";
import { revokeAtPlaces, revokeGrants } from "../../packages/shared/src/endings/endings.ts";
import { newGrantId } from "../../packages/shared/src/grants/grant.ts";
import {
  type GrantRevocation,
  grantKey,
  grantRevocationRequests,
  requestsAt,
} from "../../packages/shared/src/grants/grant-revocation.ts";
import { grantSubject, type RevocationSubject } from "../../packages/shared/src/leases/revocation-subject.ts";
import type { RefreshFamily, RefreshUse } from "../../packages/shared/src/refresh/refresh-family-rpc.ts";
import { readRefreshToken } from "../../packages/shared/src/refresh/refresh-token.ts";
import { callObject } from "../../packages/shared/src/storage/call-object.ts";
import { formatTokenId, parseTokenId } from "../../packages/shared/src/storage/shard-address.ts";
import { type Arrival, SimulatedIsolate } from "./simulated-isolate.ts";
import { SimulatedWorld } from "./simulated-world.ts";

/** An access token. */
interface Token {
  readonly subject: RevocationSubject;
  readonly expiresAtMs: number;
}

interface Grant {
  readonly family: RefreshFamily;
  readonly revocation: GrantRevocation;
  readonly tokens: Token[];
  /** Its refresh tokens, the newest last. */
  readonly refreshTokens: string[];
  /** In real time: when its end was in force. */
  inForceAtMs: number;
}

const runMs = 40_000;
const isolateCount = 4;
const users = ["alice", "bob"];
const clientId = "client";
const scope = ["openid", "offline_access"];
const never = Number.POSITIVE_INFINITY;
const lifeMs = 3_000;
/**
 * A generation is retired so long after it was closed, in place of a day: the life of a token, the longest time in which a shard vouches for the
 * control version before (10.4 s), and that of a request.
 */
export const retiredAfterMs = lifeMs + 10_400 + 3_600;
const shards = { wnam: { shards: 2, hint: "wnam" as const } };
const login = { ...{ sid: undefined, authTimeSeconds: 1, acr: undefined, amr: undefined }, claims: undefined };
const usual: Omit<RefreshUse, "accessToken" | "tokensEndAtMs"> = {
  ...{ clientId, cnf: undefined, scope: undefined, resources: undefined, authorizationDetails: undefined },
  ...{ allowedScope: scope, graceMs: 1_000, keepsToken: false, bindsToken: false, dropsScope: false },
  targets: { audiences: ["*"], issuer: "https://op.example.com", openid: true, checked: {}, defaultChecked: true },
};

/**
 * **One run of refresh families whose grants move to opened generations of revocation shards** (ADR 16), on the simulated platform: uses of new and
 * old refresh tokens, revocations of grant, user and family at any moment, and generations that the control plane opens and, by its alarm, retires.
 */
export class MovingGrants {
  readonly #world: SimulatedWorld;
  readonly #isolates: SimulatedIsolate[] = [];
  readonly #grants: Grant[] = [];

  constructor(seed: number) {
    // Clocks are equal at the beginning, because tokens and generations live for seconds here.
    const clockOffset = () => 0;
    this.#world = new SimulatedWorld(seed, { faults: true, shards: 2, relays: 0, leaseMs: 1_000, clockOffset });
  }

  async run(): Promise<Pick<SimulatedWorld, "violations" | "counts">> {
    const world = this.#world;
    for (let index = 0; index < isolateCount; index += 1) this.#isolates.push(new SimulatedIsolate(world));
    world.repeat(500, () => this.#begin());
    world.repeat(150, () => this.#refresh(this.#any(), 0));
    world.repeat(40, () => this.#introspect(this.#any()));
    world.repeat(700, () => this.#end(this.#any()));
    world.repeat(8_000, () => this.#cutOff());
    world.repeat(4_000, () => this.#open());
    world.repeat(4_000, () => world.pick(world.hosts)?.restart(world.chance(0.5)));
    world.repeat(6_000, () => this.#partition());
    await world.run(runMs, () => world.violations.length === 0);
    const retired = "SELECT count(*) AS n FROM shard_generations WHERE store = 'revocation' AND retired = 1";
    world.count("retired", Number(world.d1.run({ sql: retired, values: [] }).rows[0]?.["n"]));
    return world;
  }

  /** Mostly one of the newest. */
  #any(): Grant | undefined {
    return this.#world.pick(this.#world.chance(0.8) ? this.#grants.slice(-6) : this.#grants);
  }

  #receive(work: (arrival: Arrival) => Promise<void>): void {
    this.#world.pick(this.#isolates).receive(async (arrival) => {
      try {
        await work(arrival);
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error;
        this.#world.count("unavailable");
      }
    });
  }

  #begin(): void {
    const sub = this.#world.pick(users);
    this.#receive(async ({ context, memory }) => {
      const { arrivedAtMs } = context;
      const placed = await settle(context, memory, async () => {
        const version = memory.control.version ?? 0;
        const grantId = newGrantId({ client: version, user: version });
        const address = await memory.shardMap.place(context, "revocation", grantId);
        return { grantId, address, at: await memory.shardMap.place(context, "refresh", grantId) };
      });
      const { grantId, address, at } = placed;
      const grant = { grantId, address, grantCreatedAtMs: arrivedAtMs };
      const untilMs = arrivedAtMs + 1e9;
      const family: RefreshFamily = {
        ...{ ...login, grant, clientId, sub, scope, resources: [], expiresAtMs: untilMs },
        ...{ cnf: undefined, pairwiseSub: undefined, authorizationDetails: undefined },
      };
      const tokensEndAtMs = arrivedAtMs + lifeMs;
      const refreshToken = await memory.refreshFamilies.create(context, family, tokensEndAtMs, at);
      const ended = { grant, clientId, reason: "consent_withdrawn", untilMs } as const;
      const subject = { ...grantSubject(grant, { sub, clientId }), jti: "first" };
      this.#grants.push({
        ...{ family, revocation: { ...ended, family: { address: at, tokensEndAtMs } } },
        ...{ tokens: [{ subject, expiresAtMs: tokensEndAtMs }], refreshTokens: [refreshToken] },
        inForceAtMs: never,
      });
    });
  }

  /** Uses the newest refresh token, or one before it: that is a retry, or theft. As the endpoint does. */
  #refresh(grant: Grant | undefined, back: number): void {
    const text = grant?.refreshTokens.at(-1 - back);
    if (grant === undefined || text === undefined) return;
    const { family, tokens, refreshTokens } = grant;
    const { grantId, address: began } = family.grant;
    this.#receive(async ({ context, memory, atMs }) => {
      const token = (await readRefreshToken(context, text))!;
      const placed = await settle(context, memory, async () => {
        const address = await memory.shardMap.placeAgain(context, "revocation", began, grantId);
        const isRevoked = await memory.revocation.isRevoked(context, [grantSubject({ grantId, address }, family)]);
        return isRevoked ? undefined : address;
      });
      if (placed === undefined) return;
      const expiresAtMs = context.arrivedAtMs + lifeMs;
      const random = Math.floor(this.#world.random() * 2 ** 40).toString(36);
      const jti = formatTokenId({ address: placed, grantId, random });
      const accessToken = { jti, iatSeconds: context.arrivedAtMs / 1_000, expSeconds: expiresAtMs / 1_000 };
      const use = { ...usual, accessToken, tokensEndAtMs: expiresAtMs };
      const rotation = await memory.refreshFamilies.rotate(context, token, use);
      if (rotation.kind === "invalid_grant" && rotation.theft !== undefined) {
        await revokeAtPlaces(context, memory, grantRevocationRequests(rotation.theft, Date.now()));
        this.#world.count("thefts");
        this.#inForce(grant);
      }
      if (rotation.kind !== "rotated" && rotation.kind !== "replayed") return;
      if (grant.inForceAtMs <= atMs) this.#world.violate("R7: a refresh succeeds after the response to the revocation");
      const { address } = parseTokenId(rotation.successor.accessToken.jti)!;
      const subject = { ...grantSubject({ grantId, address }, family), jti: rotation.successor.accessToken.jti };
      tokens.push({ subject, expiresAtMs: rotation.successor.accessToken.expSeconds * 1_000 });
      this.#world.count("refreshed");
      if (address.generation > began.generation) this.#world.count("moved");
      if (refreshTokens.at(-1) === text) refreshTokens.push(rotation.refreshToken);
      if (grant.inForceAtMs < never) this.#introspect(grant);
    });
  }

  /** Revokes by one of the three ways, while the grant may be refreshed. */
  #end(grant: Grant | undefined): void {
    if (grant === undefined) return;
    const { family, refreshTokens, revocation } = grant;
    const how = this.#world.pick(["grant", "family", "theft"] as const);
    if (this.#world.chance(0.5)) this.#refresh(grant, 0);
    if (how === "theft") {
      this.#refresh(grant, 2);
      return;
    }
    this.#receive(async ({ context, memory }) => {
      if (how === "grant") await revokeGrants(context, memory, [revocation]);
      else {
        const token = (await readRefreshToken(context, refreshTokens.at(-1)!))!;
        const places = await memory.refreshFamilies.kill(context, token, "revoked by its client");
        if (places === undefined) return;
        const { grantId } = family.grant;
        const request = { key: grantKey(grantId), operationId: `revoke ${grantId}` };
        await revokeAtPlaces(context, memory, requestsAt(places, { ...request, event: undefined }, Date.now()));
      }
      this.#world.count(how === "grant" ? "grantsRevoked" : "familiesRevoked");
      this.#inForce(grant);
    });
  }

  /** Revokes everything of a user. */
  #cutOff(): void {
    const id = this.#world.pick(users);
    const operationId = `cut-off ${this.#world.nowMs}`;
    const those = this.#grants.filter(({ family }) => family.sub === id);
    this.#receive(async ({ context }) => {
      const request = { kind: "sub" as const, id, operationId, actor: "operator" };
      await callObject("control plane", () => controlPlane(context).cutOff(request), controlCallMs);
      this.#world.count("cutOffs");
      for (const grant of those) this.#inForce(grant);
    });
  }

  #inForce(grant: Grant): void {
    grant.inForceAtMs = Math.min(grant.inForceAtMs, this.#world.nowMs);
    for (let times = 0; times < 4; times += 1) this.#introspect(grant);
  }

  #open(): void {
    const operationId = `generation ${this.#world.nowMs}`;
    this.#receive(async ({ context }) => {
      const opening = { store: "revocation" as const, regions: shards, operationId };
      await callObject("control plane", () => controlPlane(context).openGeneration(opening));
      this.#world.count("opened");
    });
  }

  #partition(): void {
    const { isolates, hosts } = { isolates: this.#isolates.map(({ machine }) => machine), hosts: this.#world.hosts };
    const place = this.#world.pick([...isolates, ...hosts.map(({ name }) => name)]);
    this.#world.partitions.add(place);
    this.#world.after(2_000 * this.#world.random(), () => this.#world.partitions.delete(place));
  }

  /** Presents a token that has not expired by any clock. */
  #introspect(grant: Grant | undefined): void {
    if (grant === undefined) return;
    const margin = 1_000;
    const live = grant.tokens.filter(
      ({ expiresAtMs }) => expiresAtMs > this.#world.beganAtMs + this.#world.nowMs + margin,
    );
    for (const { subject, expiresAtMs } of live) {
      this.#receive(async ({ context, memory, atMs }) => {
        if (expiresAtMs <= context.arrivedAtMs + margin) return;
        const isDue = grant.inForceAtMs <= atMs;
        const decide = () => memory.revocation.isRevoked(context, [subject]);
        const isRevoked = await settle(context, memory, decide, readsBegun);
        this.#world.count("introspected");
        const which = `a token of generation ${subject.address.generation}`;
        if (isDue && !isRevoked) this.#world.violate(`R7: ${which} is active after its end was in force`);
        if (isRevoked && this.#isRetired(subject)) this.#world.violate(`G2: ${which}, which is retired, is alive`);
      });
    }
  }

  #isRetired({ address }: RevocationSubject): boolean {
    const sql = "SELECT retired FROM shard_generations WHERE store = 'revocation' AND generation = ?";
    return this.#world.d1.run({ sql, values: [address.generation] }).rows[0]?.["retired"] === 1;
  }
}
