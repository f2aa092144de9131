import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { generatedNotice, table } from "./markdown.ts";
import { mutantGroups } from "./simulated-mutants.ts";
import { testsIn } from "./tests-in.ts";

export const countsPath = "packages/op-state/test/simulation/counts.json";

/** Made by `scripts/count-simulations.ts`. */
export interface SimulationCounts {
  readonly simulations: Readonly<
    Record<string, { readonly runs: number; readonly counts: Readonly<Record<string, number>> }>
  >;
  readonly caught: Readonly<Record<string, { readonly caught: number; readonly runs: number }>>;
}

/** What the counters of the simulations count. A counter without a line here is an error. */
const faults: Readonly<Record<string, string>> = {
  restarts: "restart of the shard; its predecessor may answer on",
  shardRestarts: "restart of a shard; its predecessor may answer on",
  relayRestarts: "restart of a relay; its predecessor may answer on",
  servedBySuperseded: "call that a superseded instance answered",
  frozen: "isolate or relay that stood still for up to 3 s, while its clock went on",
  killed: "isolate that ended without a word",
  partitions: "isolate or relay that was cut off for up to 3 s",
  discarded: "replica that an isolate gave up",
  closings: "closing or opening of the relays",
  checkOnly: "request for a lease that a shard refused: no leases for a while, its filter not built, or paced",
  slowBodies: "request whose body was complete up to 3 s after its first byte",
  clockChanges: "clock that changed its rate within ±ρ, or was set forward at an isolate",
  paced: "request for a lease that a relay answered without a snapshot, because of others",
};
const events: Readonly<Record<string, string>> = {
  acknowledged: "revocation that was acknowledged",
  controlAcknowledged: "administrative change that was acknowledged",
  decidedByLease: "decision by a lease of the shard",
  decidedByShard: "decision by a lease of a shard",
  decidedByRelay: "decision by a lease of a relay",
  decidedByCheck: "decision by an exact check",
  settled: "decision at one control version, by `settle`",
  unavailable: "such a decision that was 503",
  uncovered: "request that its relay's lease did not cover",
  hits: "row that only the filter contained, checked exactly",
  filters: "filter that was built",
  filtersBuilt: "filter that was built",
  filtersSent: "snapshot that was a filter",
  swept: "row that was deleted after it expired",
  heldRenewals: "renewal that was held",
  relayCalls: "request for a lease at a relay",
  confirmed: "acknowledgement that confirmations ended",
  upstreamConfirmations: "confirmation of a relay at a shard",
  releases: "lease that was released",
  closed: "horizon that was withdrawn",
};

/** **`docs/reference/simulations.md`**: each fault and each mutant, with counts and tests. */
export function simulationsPage(): string {
  const counts = JSON.parse(readFileSync(join(repositoryRoot, countsPath), "utf8")) as SimulationCounts;
  return `# Simulations of the lease protocol

${generatedNotice(`the simulations and \`${countsPath}\`, which \`node scripts/count-simulations.ts\` counts by fixed seeds`)}

The simulations run the machines, holders, replicas, control views and \`settle\` that are deployed, with simulated time, chance and network, and compare each decision with what was
acknowledged before its request was complete ([protocols §2](protocols.md#2-revocation)). Everything follows from a seed; the tests begin at a random one and name it. In every simulation, messages are lost, late (up to
3 s), doubled and reordered, clocks differ by up to 54 s and by ±2 %, and leases have various lengths. A mutant is the protocol with one rule broken: it shows that the simulation would see the error.

## Faults

Counted in the runs of the unbroken protocol. None of them had a violation.

${countTable(counts, faults)}

## What happened besides

${countTable(counts, events)}

## Mutants

"Caught" counts the runs with a violation. A test makes as many runs as it needs until one has a violation, 3,000 to 15,000 at most. Mutants without a count are not of
a random simulation of Node: the test runs histories in workerd that show them.

${table(["Mutant", "Caught", "Test"], mutantRows(counts))}
`;
}

function countTable({ simulations }: SimulationCounts, meanings: Readonly<Record<string, string>>): string {
  const names = Object.keys(simulations);
  for (const { counts } of Object.values(simulations)) {
    for (const counter of Object.keys(counts)) {
      if (!(counter in faults) && !(counter in events))
        throw new Error(`no meaning is stated for the count "${counter}"`);
    }
  }
  const rows = Object.entries(meanings).map(([counter, meaning]) => [
    meaning,
    ...names.map((name) => simulations[name]!.counts[counter]?.toLocaleString("en-US") ?? ""),
  ]);
  return table(["", ...names.map((name) => `${name}: ${simulations[name]!.runs.toLocaleString("en-US")} runs`)], rows);
}

function mutantRows({ caught }: SimulationCounts): string[][] {
  const counted = new Set<string>();
  const rows = mutantGroups().flatMap(({ file, test, mutants }) => {
    const text = readFileSync(join(repositoryRoot, file), "utf8");
    if (!testsIn(text).some(({ name }) => name === test)) throw new Error(`${file} has no test "${test}"`);
    const link = `[${test.replace(" %s", " …").replace("%s", "…")}](${relative("docs/reference", file)})`;
    return mutants.map((mutant) => {
      const key = `${test}: ${mutant}`;
      counted.add(key);
      const count = caught[key];
      return [mutant, count === undefined ? "" : `${count.caught} of ${count.runs.toLocaleString("en-US")}`, link];
    });
  });
  for (const key of Object.keys(caught))
    if (!counted.has(key)) throw new Error(`a mutant that is counted is gone: ${key}`);
  return rows;
}
