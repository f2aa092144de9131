/**
 * **R7: rows of revoked grants live as long as the tokens that were issued** (ADR 16), on the real objects: random histories of one grant, ended by
 * the real code and by faulty variants, which must be detected; then the rows of a shard under a constant rate of revocations.
 */

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import {
  type GrantPlace,
  type GrantRevocation,
  grantRevocationRequests,
  joinPlaces,
  type PlacedRequest,
  rowUntilMs,
} from "@edge-op/shared/grants/grant-revocation";
import type { RefreshFamily } from "@edge-op/shared/refresh/refresh-family-rpc";
import { objectName, parseTokenId, type ShardAddress } from "@edge-op/shared/storage/shard-address";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { firstPlace, fixtureEnv, Isolate, newFamily, openGeneration, rotatorAt } from "./fixtures/rotation-fixtures.ts";

const start = Date.parse("2030-01-01T00:00:00Z");
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const address: ShardAddress = { generation: 1, region: "wnam", shard: 5 };
/** The code's own tokens have expired at this time. */
const codeTokensEndAtMs = start + 120_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
});
afterEach(() => {
  vi.useRealTimers();
});

function advance(seconds: number): void {
  vi.setSystemTime(Date.now() + seconds * 1000);
}

function endOf({ grant, expiresAtMs }: RefreshFamily): GrantRevocation {
  return {
    grant,
    clientId: "app",
    reason: "session_ended",
    untilMs: expiresAtMs + dayMs,
    family: { address, tokensEndAtMs: codeTokensEndAtMs },
  };
}

/** Ends the grant of `family` and returns its rows. `meanwhile` is a use of the family by another isolate. */
type Ending = (isolate: Isolate, family: RefreshFamily, meanwhile: () => Promise<void>) => Promise<Rows>;
type Rows = readonly GrantPlace[];

const endFirst: Ending = async (isolate, family, meanwhile) => {
  const { places } = await isolate.families.end(isolate.context(), endOf(family));
  await meanwhile();
  return places!;
};

/** The rows of a family in this state, and of the tokens of its code. */
function rowsOf(snapshot: { readonly successor: { readonly places: Rows } } | undefined): Rows {
  const ofCode = { address: firstPlace, untilMs: rowUntilMs(codeTokensEndAtMs) };
  return joinPlaces([...(snapshot?.successor.places ?? []), ofCode]);
}

async function findFamily(family: RefreshFamily) {
  const state = await rotatorAt(address).inspect(family.grant.grantId);
  return state.kind === "found" ? state.snapshot : undefined;
}

const mutants: Readonly<Record<string, Ending>> = {
  "a row for the tokens up to now, before the family is ended": async (isolate, family, meanwhile) => {
    const known = await findFamily(family);
    await meanwhile();
    await isolate.families.end(isolate.context(), endOf(family));
    return rowsOf(known);
  },
  "a family that is not ended": async (_isolate, family, meanwhile) => {
    const known = await findFamily(family);
    await meanwhile();
    return rowsOf(known);
  },
  "a family that has not started, taken for an ended one": async (_isolate, family, meanwhile) => {
    const state = await rotatorAt(address).kill(family.grant.grantId, "ended", undefined);
    await meanwhile();
    return rowsOf(state.kind === "found" ? state.snapshot : undefined);
  },
  "the end of the newest token alone": async (isolate, family, meanwhile) => {
    await isolate.families.end(isolate.context(), endOf(family));
    await meanwhile();
    const known = await findFamily(family);
    const untilMs = rowUntilMs((known?.successor.accessToken.expSeconds ?? 0) * 1000);
    return rowsOf(undefined).map((row) => ({ ...row, untilMs: Math.max(row.untilMs, untilMs) }));
  },
  "the row at the grant's first place alone": async (isolate, family, meanwhile) => {
    const rows = await endFirst(isolate, family, meanwhile);
    return rows.filter(({ address: { generation } }) => generation === firstPlace.generation);
  },
  "the row at the newest place alone": async (isolate, family, meanwhile) => {
    const rows = await endFirst(isolate, family, meanwhile);
    return rows.filter(({ address: { generation } }) => rows.length === 1 || generation !== firstPlace.generation);
  },
  "a family that moved, not followed": async (_isolate, family, meanwhile) => {
    const { grant, expiresAtMs } = family;
    const state = await rotatorAt(address).kill(grant.grantId, "ended", undefined, expiresAtMs + dayMs);
    await meanwhile();
    const snapshot = state.kind === "found" ? state.snapshot : state.kind === "moved" ? state.handover : undefined;
    return rowsOf(snapshot);
  },
};

const step = fc.record({
  does: fc.constantFrom("refresh", "refresh", "retry", "end", "start"),
  lifeSeconds: fc.constantFrom(1, 60, 3_600, 86_400),
  afterSeconds: fc.constantFrom(0, 1, 29, 40, 3_000, 90_000, 400_000),
  /** Another isolate, which knows a newer generation, to which the family moves. */
  moves: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** One grant. Uses after its end must be refused, and no token may outlive the row that was acknowledged first. */
class History {
  readonly #family = newFamily();
  readonly #ending: Ending;
  readonly #old = new Isolate();
  #tokens: string[] = [];
  /** The last expiry at each place. */
  #ends: Rows = [{ address: firstPlace, untilMs: codeTokensEndAtMs }];
  #rows: Rows | undefined;
  #endedAtMs = 0;
  violations = 0;

  constructor(ending: Ending) {
    this.#ending = ending;
  }

  async run(steps: readonly Step[]): Promise<number> {
    await this.#old.families.end(this.#old.context(), endOf(newFamily()));
    for (const each of steps) {
      advance(each.afterSeconds);
      await this.#do(each);
    }
    if (this.#rows !== undefined && this.#ends.some((end) => !this.#isCovered(end))) this.violations += 1;
    return this.violations;
  }

  /** A token that expired before the grant ended needs no row. */
  #isCovered(end: GrantPlace): boolean {
    const row = this.#rows!.find(({ address: { generation } }) => generation === end.address.generation);
    return end.untilMs <= this.#endedAtMs || (row !== undefined && row.untilMs >= end.untilMs);
  }

  async #do(each: Step): Promise<void> {
    if (each.does === "start") return this.#start();
    if (each.does !== "end") return this.#use(each);
    // The end may occur between the redemption of a code and the start of its family, or concurrently with a refresh.
    const concurrent = this.#tokens.length === 0 ? () => this.#start() : () => this.#use({ ...each, does: "refresh" });
    const rows = await this.#ending(this.#old, this.#family, concurrent);
    if (this.#rows === undefined) this.#endedAtMs = Date.now();
    this.#rows ??= rows;
  }

  /** The first access token is the code's own: it ends with `codeTokensEndAtMs`. */
  async #start(): Promise<void> {
    if (this.#tokens.length > 0) return;
    this.#tokens = [await this.#old.create(this.#family, address, 60)];
  }

  async #use({ does, lifeSeconds, moves }: Step): Promise<void> {
    const token = this.#tokens.at(does === "retry" ? -2 : -1) ?? this.#tokens[0];
    if (token === undefined) return;
    const place = moves ? { ...firstPlace, generation: 2 } : firstPlace;
    const rotation = await (moves ? new Isolate() : this.#old).use(token, { lifeSeconds, place });
    if ("reason" in rotation) return;
    if (this.#rows !== undefined) this.violations += 1;
    const { accessToken } = rotation.successor;
    const { address: at } = parseTokenId(accessToken.jti)!;
    if (rotation.kind === "rotated") this.#tokens.push(rotation.refreshToken);
    this.#ends = joinPlaces([...this.#ends, { address: at, untilMs: accessToken.expSeconds * 1000 }]);
  }
}

function historiesOf(ending: Ending, numRuns: number) {
  return fc.check(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 8 }), async (steps) => {
      vi.setSystemTime(start);
      const ends: Step = { ...steps[0]!, does: "end" };
      return (await new History(ending).run([...steps, ends, ...steps])) === 0;
    }),
    { numRuns, endOnFailure: true },
  );
}

describe("R7: nothing of a grant is usable at any time after its revocation was acknowledged", () => {
  beforeEach(() => openGeneration(2));

  it("as designed", async () => {
    const { failed, counterexample } = await historiesOf(endFirst, 60);
    expect(failed, JSON.stringify(counterexample)).toBe(false);
  }, 60_000);

  it.each(Object.entries(mutants))(
    "finds %s",
    async (_name, ending) => {
      expect((await historiesOf(ending, 400)).failed).toBe(true);
    },
    60_000,
  );
});

describe("the rows of a shard do not grow beyond the lifetime of an access token", () => {
  const shardName = objectName("revocation", { ...address, shard: 6 });
  const shardOfTest = () => fixtureEnv.TOKEN_REVOCATION_STORE.getByName(shardName);
  const lifeSeconds = 3_600;

  /** The family of this grant as sent to the shard, by `/revoke` or by the alarm of the object that detected its end. */
  async function endedFamily(isolate: Isolate) {
    const family = newFamily();
    const token = await isolate.create(family, address);
    await isolate.use(token, { lifeSeconds });
    const revocation = await isolate.families.end(isolate.context(), endOf(family));
    const [{ request }] = grantRevocationRequests(revocation, Date.now()) as [PlacedRequest];
    return { token, request };
  }

  it.each([2_580, 25_000])(
    "%i revocations of refresh tokens a day on eight shards, for ten days",
    async (perDay) => {
      const shard = shardOfTest();
      const { request } = await endedFamily(new Isolate());
      expect(request.untilMs - Date.now()).toBe(lifeSeconds * 1000 + 60_000);
      const perStep = Math.ceil(perDay / 8 / 6);
      const rows = () =>
        runInDurableObject(
          shard,
          (_, { storage: { sql } }) => sql.exec<{ n: number }>("SELECT count(*) AS n FROM revoked").one().n,
        );
      for (let time = 0; time < 60; time += 1) {
        const untilMs = Date.now() + (request.untilMs - start);
        const requests = Array.from({ length: perStep }, (_, index) => {
          const id = `${perDay}-${time}-${index}`;
          return { ...request, key: `g:${id}`, operationId: `revoke ${id}`, untilMs };
        });
        await shard.revoke(requests, false);
        expect(await rows()).toBe(perStep);
        vi.setSystemTime(Date.now() + 4 * hourMs);
        while ((await rows()) > 0) expect(await runDurableObjectAlarm(shard)).toBe(true);
      }
    },
    60_000,
  );

  it("a refresh token is refused when the row of its grant has been deleted", async () => {
    const shard = shardOfTest();
    const isolate = new Isolate();
    const { token, request } = await endedFamily(isolate);
    await shard.revoke([request], false);
    advance(2 * lifeSeconds);
    await runDurableObjectAlarm(shard);
    expect((await shard.check([request.key], [], -1)).revoked).toEqual([]);
    expect(await isolate.use(token)).toMatchObject({ kind: "invalid_grant", reason: "refresh-family-ended" });
  });
});
