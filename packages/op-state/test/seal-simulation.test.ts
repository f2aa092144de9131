import { describe, expect, it } from "vitest";
import { afterOpen, afterRead, type SealStep } from "../src/audit/seal-machine.ts";
import { randomOf, SealWorld, type Variant } from "./simulation/seal-world.ts";

/** **The simulation of sealing** (src/audit/seal-machine.ts): two sealers, of which each may end at any step, and a D1 that is set back. */
const runs = 250;
const actions = 150;

function simulate(seed: number, variant: Variant): string[] {
  const random = randomOf(seed);
  const world = new SealWorld(variant, random);
  const steps: SealStep[] = [{ kind: "read" }, { kind: "read" }];
  for (let action = 0; action < actions; action += 1) {
    const dice = random();
    if (dice < 0.25) world.append();
    else if (dice < 0.4) world.nowMs += 1;
    else if (dice < 0.41) world.save();
    else if (dice < 0.415) world.setBack();
    else {
      const sealer = random() < 0.5 ? 0 : 1;
      const bad = random();
      const fault = bad < 0.05 ? "before" : bad < 0.1 ? "after" : bad < 0.15 ? "damaged" : undefined;
      steps[sealer] = world.perform(steps[sealer]!, fault);
    }
    const faults = world.faults();
    if (faults.length > 0) return faults;
  }
  world.nowMs += 1_000;
  world.settle();
  const rest = world.rows.map(({ position }) => `event ${position} stays in D1`);
  return [...world.faults(), ...rest, ...world.unlisted().map((key) => `${key} is listed nowhere`)];
}

function firstFaults(variant: Variant): string[] {
  for (let seed = 1; seed <= runs; seed += 1) {
    const faults = simulate(seed, variant);
    if (faults.length > 0) return faults;
  }
  return [];
}

describe("sealing", () => {
  it("S1–S3: no event is lost, in two stores or without a manifest, and each old event arrives", () => {
    expect(firstFaults({})).toEqual([]);
  });

  const trusts: Variant["machine"] = {
    afterInspect: (part, found) => ({
      kind: "open",
      part,
      found: { etag: found?.etag ?? "", digest: JSON.stringify(part.events), events: part.events },
    }),
  };
  const releasesFirst: Variant["machine"] = {
    afterOpen(part, found, manifest) {
      const step = afterOpen(part, found, manifest);
      return step.kind === "list" ? { kind: "release", segment: step.segment, events: found.events! } : step;
    },
  };
  const replacesListed: Variant["machine"] = {
    afterOpen: (part, found, { etag, segments }) =>
      afterOpen(part, found, { etag, segments: segments.filter(({ key }) => key !== part.key) }),
  };
  const insists: Variant["machine"] = {
    afterInspect(part, found) {
      const isOwn = JSON.stringify(found?.events) === JSON.stringify(part.events);
      return isOwn ? { kind: "open", part, found: found! } : { kind: "replace", part, etag: found?.etag ?? "" };
    },
  };

  it.each<[string, Variant, RegExp]>([
    ["that does not read back what it wrote", { machine: trusts }, /not what was sealed|lost|written again/],
    ["that overwrites what is there", { overwrites: true }, /written again|not what was sealed/],
    ["that releases before the manifest", { machine: releasesFirst }, /in no manifest/],
    [
      "that overwrites what a manifest names",
      { machine: replacesListed },
      /written again|in no manifest|listed nowhere/,
    ],
    ["that insists on its own cut", { machine: insists }, /written again|not what was sealed/],
    ["that writes a manifest over another one", { listsBlindly: true }, /in no manifest/],
    ["that releases what D1 does not begin with", { releasesAlways: true }, /not once|lost|both stores/],
  ])("a sealer %s is found", (_, variant, fault) => {
    expect(firstFaults(variant).join()).toMatch(fault);
  });
});

describe("the cut", () => {
  const day = 86_400_000;
  const now = 100 * day;
  const rules = { epoch: 2, most: 3, cutoffMs: now - 7 * day, waitMs: day };
  const event = (position: number, ageDays: number, isSettled = true) => ({
    ...{ position, atMs: now - ageDays * day, isSettled },
    ...{ shard: "s", seq: position, type: "t", payload: "{}", previous: "", hash: "", chain: "" },
  });
  const cut = (...events: ReturnType<typeof event>[]) => {
    const step = afterRead({ events, before: "" }, rules);
    return step.kind === "create" ? [step.part.key, ...step.part.events.map(({ position }) => position)] : step.kind;
  };
  const key = "audit/2/1970-04-02/000000000001.ndjson.gz";

  it.each([
    ["nothing", [], "done"],
    ["recent events stay", [event(1, 6)], "done"],
    ["a few wait for a day", [event(1, 7.5)], "done"],
    [
      "a few that have waited are sealed, up to the first recent one",
      [event(1, 9), event(2, 8.5), event(3, 1)],
      [key, 1, 2],
    ],
    ["a full segment does not wait", [event(1, 9), event(2, 7.2), event(3, 7.1), event(4, 7.1)], [key, 1, 2, 3]],
    ["what an earlier event of its object is missing before waits for it", [event(1, 9), event(2, 9, false)], [key, 1]],
    ["but not for ever", [event(1, 9), event(2, 15, false)], [key, 1, 2]],
  ])("%s", (_, events, expected) => {
    expect(cut(...events)).toEqual(expected);
  });
});
