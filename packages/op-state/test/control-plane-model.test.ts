import { applyD1Migrations, type D1Migration, evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { resetDeployment } from "../../../test/fresh-deployment.ts";
import {
  actualWait,
  commitChange,
  plane,
  resetWorld,
  revocationGenerations,
  ring,
  start,
  told,
  useControlPlaneWorld,
  world,
} from "./control-plane-world.ts";

/**
 * Whatever is asked for at the same time, whichever shards fail and whenever the object is evicted: what was answered is
 * known on every shard that D1 lists, and what was not answered is finished by alarms once the shards are back.
 */
useControlPlaneWorld();

const { DB, TEST_MIGRATIONS } = env as unknown as { DB: D1Database; TEST_MIGRATIONS: D1Migration[] };

interface Step {
  readonly operations: readonly string[];
  /** Share of calls to shards that fail. */
  readonly failing: number;
  readonly evict: boolean;
  readonly ring: boolean;
  readonly passMs: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  operations: fc.array(fc.constantFrom("change", "cutOff", "open", "die"), { minLength: 1, maxLength: 4 }),
  failing: fc.constantFrom(0, 0, 0.05, 0.3),
  evict: fc.boolean(),
  ring: fc.boolean(),
  passMs: fc.constantFrom(0, 5_000, 40_000),
});

/** What was answered with success so far. */
interface Answered {
  cv: number;
  readonly cutOffs: Map<string, number>;
  readonly generations: Set<number>;
}

async function perform(operation: string, id: string, answered: Answered): Promise<void> {
  if (operation === "open") {
    const request = { store: "revocation", regions: { weur: { shards: 2, hint: "weur" } }, operationId: id } as const;
    answered.generations.add((await plane().openGeneration(request)).generation);
  } else if (operation === "cutOff") {
    const request = { kind: "sub", id, operationId: id, actor: "admin" } as const;
    answered.cutOffs.set(`nb:sub:${id}`, (await plane().cutOff(request)).notBeforeMs);
  } else {
    await plane().begin(id);
    await commitChange(id);
    if (operation === "die") return;
    answered.cv = Math.max(answered.cv, (await plane().publish(id)).cv);
  }
  // Here, not only when all is quiet: another operation may be between listing a generation and telling its shards.
  await expectInForce(answered);
}

async function expectInForce(answered: Answered): Promise<void> {
  const listed = await revocationGenerations();
  for (const generation of answered.generations) expect(listed.map((row) => row.generation)).toContain(generation);
  for (const { generation, regions } of listed) {
    for (const [region, { shards }] of Object.entries(regions)) {
      for (let shard = 0; shard < shards; shard += 1) {
        const { cv, cutOffs } = told(`revocation:g${generation}:${region}:${shard}`);
        expect(cv).toBeGreaterThanOrEqual(answered.cv);
        for (const [key, notBeforeMs] of answered.cutOffs) {
          expect(cutOffs.get(key)?.notBeforeMs).toBeGreaterThanOrEqual(notBeforeMs);
        }
      }
    }
  }
}

async function heal(): Promise<void> {
  world.refuse = () => false;
  for (let round = 0; round < 3; round += 1) {
    vi.setSystemTime(Date.now() + 60_000);
    await ring();
  }
}

async function runHistory(steps: readonly Step[], seed: number): Promise<void> {
  await resetDeployment();
  await applyD1Migrations(DB, TEST_MIGRATIONS);
  resetWorld();
  vi.setSystemTime(start);
  let state = seed;
  const chance = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  world.hold = () => actualWait(Math.floor(chance() * 6));
  const answered: Answered = { cv: 0, cutOffs: new Map(), generations: new Set() };
  for (const [index, { operations, failing, evict, ring: rings, passMs }] of steps.entries()) {
    world.refuse = () => chance() < failing;
    const outcomes = await Promise.allSettled(
      operations.map((operation, place) => perform(operation, `op-${index}-${place}`, answered)),
    );
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(String(outcome.reason)).toContain("revocation shard did not answer");
    }
    if (failing === 0) expect(outcomes.map(({ status }) => status)).not.toContain("rejected");
    await expectInForce(answered);
    if (evict) await evictDurableObject(plane());
    vi.setSystemTime(Date.now() + passMs);
    if (rings) await ring();
    await expectInForce(answered);
  }
  await heal();
  const newest = await DB.prepare("SELECT max(version) AS cv FROM control_changes").first<{ cv: number }>();
  await expectInForce({ ...answered, cv: newest!.cv });
}

it("what is answered is in force everywhere, what is not answered is finished, whatever fails meanwhile", async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), fc.nat(), runHistory), {
    numRuns: 15,
  });
}, 120_000);
