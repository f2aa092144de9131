import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { readRefreshToken } from "@edge-op/shared/refresh/refresh-token";
import { parseRefreshToken } from "@edge-op/shared/storage/shard-address";
import fc from "fast-check";
import { afterEach, expect, it, vi } from "vitest";
import {
  evict,
  fixtureEnv,
  forgetTable,
  Isolate,
  isGrantRevoked,
  type LostCall,
  newFamily,
  openGeneration,
  ring,
  rotatorAt,
  rotatorOf,
} from "./fixtures/rotation-fixtures.ts";

/**
 * R1–R6 on the real object, against a model that knows nothing of shards, generations or rows. Calls and results get lost, so the model is a set of
 * possible states of the family; each result must be correct for one of them.
 */
const graceMs = 30_000;
const maxReplays = 2;
const family = newFamily();
const scopes = [undefined, family.scope, ["openid"], ["openid", "admin"]] as const;

interface State {
  readonly version: number;
  readonly rotatedAtMs: number;
  readonly replays: number;
  readonly dead: boolean;
  readonly scope: readonly string[];
}

interface Use {
  readonly version: number;
  readonly scope: readonly string[] | undefined;
  readonly ours: boolean;
}

type Answer = "successor" | "invalid_grant" | "invalid_scope" | "theft";

/** The check of a request: it passed before the use, or it passes or fails at the same time. */
type Check = "passed" | "passes" | "fails";

/** protocols.md §3, written independently of the machine. */
function expected(state: State, use: Use, nowMs: number): readonly [Answer, State] {
  if (state.dead || !use.ours) return ["invalid_grant", state];
  if (use.scope?.includes("admin")) return ["invalid_scope", state];
  const scope = use.scope ?? family.scope;
  if (use.version === state.version) {
    return ["successor", { version: state.version + 1, rotatedAtMs: nowMs, replays: 0, dead: false, scope }];
  }
  const isRetry = use.version === state.version - 1 && nowMs - state.rotatedAtMs <= graceMs;
  if (!isRetry) return ["theft", { ...state, dead: true }];
  const isSame = scope.length === state.scope.length && state.replays < maxReplays;
  return isSame ? ["successor", { ...state, replays: state.replays + 1 }] : ["invalid_grant", state];
}

afterEach(() => {
  vi.useRealTimers();
});

type Step =
  | {
      readonly kind: "use";
      readonly distance: number;
      readonly scope: number;
      readonly ours: boolean;
      readonly isolate: number;
      readonly lost: LostCall | undefined;
      readonly check: Check;
    }
  | { readonly kind: "wait"; readonly seconds: number }
  | { readonly kind: "evict" | "open" | "kill" | "restart" };

const use = fc.record({
  kind: fc.constant("use" as const),
  distance: fc.oneof(
    { weight: 6, arbitrary: fc.constant(0) },
    { weight: 4, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 2, max: 5 }) },
  ),
  scope: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.integer({ min: 1, max: 3 }) }),
  ours: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  isolate: fc.integer({ min: 0, max: 2 }),
  check: fc.constantFrom("passed" as const, "passed" as const, "passes" as const, "fails" as const),
  lost: fc.option(
    fc.record({ index: fc.integer({ min: 0, max: 2 }), when: fc.constantFrom("before" as const, "after" as const) }),
    { nil: undefined, freq: 2 },
  ),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: use },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("wait" as const), seconds: fc.constantFrom(1, 20, 29.999, 30.001, 600) }),
  },
  { weight: 3, arbitrary: fc.constant<Step>({ kind: "evict" }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: "open" }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: "restart" }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: "kill" }) },
);

/** One family's life. */
class Walk {
  readonly #family = newFamily();
  #isolates = [new Isolate(), new Isolate(), new Isolate()];
  /** The text of each version, which never changes (R1). */
  readonly #texts: string[] = [];
  readonly #accessTokens = new Map<number, string>();
  #states: State[] = [];
  #generation = 1;
  #stolen = false;
  #killed = false;

  async begin(): Promise<void> {
    this.#texts.push(await this.#isolates[0]!.create(this.#family));
    this.#states = [{ version: 0, rotatedAtMs: Date.now(), replays: 0, dead: false, scope: this.#family.scope }];
  }

  async run(taken: Step): Promise<void> {
    switch (taken.kind) {
      case "use":
        return this.#use(taken);
      case "wait":
        vi.setSystemTime(Date.now() + taken.seconds * 1000);
        return;
      case "evict":
        for (const text of this.#texts.slice(-2)) await evict(text);
        return;
      case "open":
        if (this.#generation === 4) return;
        this.#generation += 1;
        return openGeneration(this.#generation);
      case "restart":
        this.#isolates = [new Isolate(), ...this.#isolates.slice(0, 2)];
        return;
      case "kill":
        return this.#kill();
    }
  }

  async #use({ distance, scope, ours, isolate, lost, check }: Extract<Step, { kind: "use" }>): Promise<void> {
    const newest = this.#texts.length - 1;
    const version = Math.max(0, newest - distance);
    const asked = scopes[scope];
    const presented: Use = { version, scope: asked, ours };
    const nexts = this.#states.map((state) => expected(state, presented, Date.now()));
    const response = await this.#present(version, { asked, ours, isolate, lost, check });
    // The effect of the use is undone.
    if (response === "taken back") return;
    if (response === "unavailable") {
      // The call may have arrived or not, so both states continue.
      this.#states = [...this.#states, ...nexts.map(([, next]) => next)];
      return;
    }
    this.#states = nexts.filter(([right]) => right === response).map(([, next]) => next);
    expect(this.#states, `${response} to version ${version} of ${newest}`).not.toEqual([]);
    this.#stolen ||= response === "theft";
  }

  async #present(
    version: number,
    {
      asked,
      ours,
      isolate,
      lost,
      check,
    }: { asked: readonly string[] | undefined } & Pick<
      Extract<Step, { kind: "use" }>,
      "ours" | "isolate" | "lost" | "check"
    >,
  ): Promise<Answer | "taken back" | "unavailable"> {
    const by = this.#isolates[isolate]!;
    const text = this.#texts[version]!;
    const options = { clientId: ours ? "app" : "other", replays: maxReplays, ...(asked && { scope: asked }) };
    const context = by.context({ ...options, ...(lost && { lost }) });
    const present = (isUnchecked: boolean) => by.use(text, { ...options, context, isUnchecked });
    try {
      const ahead = check === "passed" ? undefined : await present(true).catch((error: unknown) => error as Error);
      if (check === "fails") {
        const isKnown = !(ahead instanceof Error);
        await by.families.takeBack(context, (await readRefreshToken(context, text))!);
        // A lost call may have been the one that takes back.
        return isKnown && lost === undefined ? "taken back" : "unavailable";
      }
      if (ahead instanceof Error) throw ahead;
      const rotation = ahead === undefined || ahead.kind === "unchecked_request" ? await present(false) : ahead;
      if (rotation.kind === "unchecked_request") throw new Error("undecided after the check");
      if ("reason" in rotation) {
        if (rotation.reason === "refresh-token-reused") return "theft";
        if (rotation.kind !== "invalid_grant" && rotation.kind !== "invalid_scope")
          throw new Error("no resource was asked for");
        return rotation.kind;
      }
      this.#remember(rotation.refreshToken, JSON.stringify(rotation.successor.accessToken));
      return "successor";
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      return "unavailable";
    }
  }

  #remember(text: string, accessToken: string): void {
    const { version } = parseRefreshToken(text)!;
    expect(this.#texts[version] ?? text).toBe(text);
    this.#texts[version] = text;
    expect(this.#accessTokens.get(version) ?? accessToken).toBe(accessToken);
    this.#accessTokens.set(version, accessToken);
  }

  async #kill(): Promise<void> {
    const [isolate] = this.#isolates;
    const context = isolate!.context();
    const token = (await readRefreshToken(context, this.#texts.at(-1)!))!;
    await isolate!.families.kill(context, token, "logout");
    this.#states = this.#states.map((state) => ({ ...state, dead: true }));
    this.#killed = true;
  }

  /** The final state of the family must match the model, and its grant must be revoked exactly if it was stolen (R3). */
  async end(): Promise<void> {
    const isolate = new Isolate();
    const token = (await readRefreshToken(isolate.context(), this.#texts[0]!))!;
    const dead = (await isolate.families.inspect(isolate.context(), token))?.live !== true;
    expect(this.#states.map((state) => state.dead)).toContain(dead);
    await ring(rotatorOf(this.#texts[0]!));
    for (let generation = 2; generation <= this.#generation; generation += 1) {
      for (const shard of [0, 1]) await ring(rotatorAt({ generation, region: "wnam", shard }));
    }
    const revoked = await isGrantRevoked(this.#family.grant);
    if (!this.#killed) expect(revoked).toBe(dead);
    else if (this.#stolen) expect(revoked).toBe(true);
  }
}

it("R1–R6: the family behaves like the model, whatever is lost, evicted, moved or stolen", {
  timeout: 120_000,
}, async () => {
  const seed = Date.now() % 1_000_000;
  console.info(`rotation model: seed ${seed}`);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2035-01-01T00:00:00Z") });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      await fixtureEnv.DB.prepare("DELETE FROM shard_generations WHERE store = 'refresh' AND generation > 1").run();
      await forgetTable();
      const walk = new Walk();
      await walk.begin();
      for (const taken of steps) await walk.run(taken);
      await walk.end();
    }),
    { numRuns: 60, seed, endOnFailure: true },
  );
});
