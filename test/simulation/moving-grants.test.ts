import { afterAll, beforeAll, expect, it } from "vitest";
import { RefreshTokenRotator } from "../../packages/op-state/src/refresh/refresh-token-rotator.ts";
import { RefreshFamilies } from "../../packages/shared/src/refresh/refresh-families.ts";
import { hastenRetirement } from "./modes.ts";
import { MovingGrants, retiredAfterMs } from "./moving-grants.ts";
import { installPlatform } from "./platform.ts";
import { around, type Restore, restoreAll } from "./replace-method.ts";
import { runCount } from "./run-count.ts";

/** `SIMULATION_SEED=4711 npm test -- moving-grants` replays one run. */
const { SIMULATION_SEED: replayed } = process.env;
const firstSeed = Number(replayed ?? Math.floor(Math.random() * 2 ** 31));
const runs = replayed === undefined ? Number(process.env["SIMULATION_RUNS"] ?? runCount(3, 8)) : 1;
/** Run 10 shows the mutant that shows most rarely. */
const firstMutantSeed = 10;
const mutantRuns = 30;
const timeout = 120_000;

const restorers: Restore[] = [];
beforeAll(() => void restorers.push(installPlatform(), hastenRetirement(retiredAfterMs)));
afterAll(() => restoreAll(restorers)());

it(`R7, G2: an end of a grant that moves ends all of its tokens, from seed ${firstSeed}`, { timeout }, async () => {
  const total: Record<string, number> = {};
  for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
    const { violations, counts } = await new MovingGrants(seed).run();
    expect(violations, `seed ${seed}`).toEqual([]);
    for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count;
  }
  if (replayed !== undefined) console.log(JSON.stringify(total));
  const events = ["moved", "opened", "retired", "grantsRevoked", "familiesRevoked", "thefts", "cutOffs", "unavailable"];
  for (const name of runs >= 8 ? events : []) expect(total[name] ?? 0, name).toBeGreaterThan(0);
});

/** Each replaces one method of the product, or the life of an id by which generations are retired. */
const mutants: Readonly<Record<string, () => Restore>> = {
  "a revocation that writes the first place alone": () =>
    restoreAll([
      around(RefreshFamilies, "end", async (_self, end, context, revocation) => {
        const { places = [], ...ended } = await end(context, revocation);
        const isFirst = ({ address }: (typeof places)[number]) =>
          address.generation === revocation.grant.address.generation;
        return { ...ended, places: places.filter(isFirst) };
      }),
      around(RefreshFamilies, "kill", async (_self, kill, context, token, reason) => {
        const places = await kill(context, token, reason);
        return places?.slice(0, 1);
      }),
    ]),
  "a revocation that writes the newest place alone": () =>
    around(RefreshFamilies, "kill", async (_self, kill, context, token, reason) => {
      return (await kill(context, token, reason))?.slice(-1);
    }),
  "a refresh that does not store its place": () =>
    around(RefreshTokenRotator, "rotate", (_self, rotate, requests) =>
      rotate(requests.map((request) => ({ ...request, tokensEndAtMs: 0 }))),
    ),
  "a revocation that does not end the family": () =>
    around(RefreshTokenRotator, "kill", async (self, kill, grantId, reason, handover, untilMs) => {
      const state = await self.inspect(grantId);
      return state.kind === "found" ? state : kill(grantId, reason, handover, untilMs);
    }),
  "a generation that is retired while its last token lives": () => hastenRetirement(0),
};

it.each(Object.entries(mutants))("the simulation of moving grants catches %s", { timeout }, async (_, apply) => {
  const restore = apply();
  try {
    let caught = false;
    for (let seed = firstMutantSeed; seed < firstMutantSeed + mutantRuns && !caught; seed += 1)
      caught = (await new MovingGrants(seed).run()).violations.length > 0;
    expect(caught).toBe(true);
  } finally {
    restore();
  }
});
