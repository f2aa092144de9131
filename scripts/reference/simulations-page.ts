import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { repositoryRoot } from "../../packages/local-provider/src/workers.ts";
import { generatedNotice, table } from "./markdown.ts";
import { mutantGroups } from "./simulated-mutants.ts";
import { testsIn } from "./tests-in.ts";

export const countsPath = "test/simulation/counts.json";

/** Made by `scripts/count-simulations.ts`. */
export interface SimulationCounts {
  readonly runs: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly caught: Readonly<Record<string, { readonly caught: number; readonly runs: number }>>;
}

/** What the counters of the simulation count. A counter without a line here is an error. */
const faults: Readonly<Record<string, string>> = {
  shardRestarts: "restart of a shard; its predecessor may answer on for up to 6 s",
  relayRestarts: "restart of a relay, likewise",
  otherRestarts: "restart of a shard of sessions or of the control plane, likewise",
  servedBySuperseded: "call that a superseded instance answered",
  frozen: "isolate or object that stood still for up to 3 s, while its clock went on",
  killed: "isolate that ended without a word",
  partitions: "isolate, object or KV that was cut off for up to 3 s",
  idle: "isolate without a request for longer than its leases last",
  closings: "closing or opening of the relays",
  openings: "opening of a generation of revocation shards; the one before is retired 4 s later",
  checkOnly:
    "request for a lease that a shard refused: its filter not built, or paced; counted while clocks keep their rates",
  paced: "request for a lease that a relay answered without a snapshot, because of others; likewise",
  slowBodies: "request whose body was complete up to 3 s after its first byte",
};
const events: Readonly<Record<string, string>> = {
  acknowledged: "revocation that was answered",
  signedIn: "sign-in with two grants",
  signedOut: "sign-out that was answered",
  cutOffs: "cut-off of a user that was answered",
  controlAcknowledged: "administrative change that was answered",
  decided: "decision by `settle`",
  decidedByRecords: "such a decision that read four records",
  unavailable: "request that was 503",
  signed: "token that an isolate signed",
  filtersSent: "snapshot that was a filter; counted while clocks keep their rates",
  heldRenewals: "renewal that a shard held; likewise",
  "relay.lease": "request of a warm isolate for a lease at a relay",
  "relay.release": "lease of a relay that such an isolate released",
  "revocation.lease": "request of such an isolate for a lease at a shard",
  "revocation.release": "lease of a shard that it released",
  "revocation.check": "exact check of such an isolate",
  "revocation.revoke": "call for a revocation, those of sign-outs included",
};
/** Calls that other parts make. */
const uncounted = /^(session|control|refresh|keys)\./;

/** **`docs/reference/simulations.md`**: each fault and each mutant, with counts and tests. */
export function simulationsPage(): string {
  const counts = JSON.parse(readFileSync(join(repositoryRoot, countsPath), "utf8")) as SimulationCounts;
  return `# Simulation of the lease protocol

${generatedNotice(`the simulation and \`${countsPath}\`, which \`node scripts/count-simulations.ts\` counts by fixed seeds`)}

The simulation runs the product's own classes in Node, on a simulated platform: isolates with what they keep in memory, the objects of revocations, relays, sessions, keys and the control plane,
SQLite for their storage and for D1, KV with copies of before, and the network between them. Clock, timers, chance and bindings are the platform's, so there is no wiring beside the product's. Requests are introspections by
\`settle\`, revocations, sign-ins, sign-outs, cut-offs and administrative changes; each answer is compared with what was in force when its request was complete
([protocols §2](protocols.md#2-revocation)). Everything follows from a seed; the test begins at a random one and names it. Messages are lost, late (up to 3 s), doubled and reordered, writes become durable late, clocks differ
by up to 54 s and by ±2 %, and leases have various lengths. Besides, a decision rests on reads of one control version (V1), a token that nobody revoked is active (E1), no lease outlives its server's (I2), no wait is longer
than the longest lease and fence (L2), and cold isolates get their leases (L1) at the stated cost (C1).

A mutant replaces one method of a product class by one with an error: it shows that the simulation would see the error.

## Faults

Counted in the runs of the unbroken protocol. None of them had a violation.

${countTable(counts, faults)}

## What happened besides

${countTable(counts, events)}

## Mutants

"Caught" counts the runs with a violation. A test makes as many runs as it needs until one has a violation, 400 at most. Mutants without a count are judged by the cost of all runs together, or
the test runs histories in workerd that show them.

Shown elsewhere: a delta across a gap ([control-view.test.ts](../../packages/shared/test/control/control-view.test.ts)), a remembered decision that outlives its version
([remembered-decisions.test.ts](../../packages/shared/test/control/remembered-decisions.test.ts)), a remembered exchange that ignores the actor's revocation
([token-exchange.test.ts](../../packages/op-token/test/token-exchange.test.ts)). These rules of a lease tree have no counterpart, because today's tiers have no such part: a shard that passes a control change on before its own
holders have it, one log's confirmation that counts for all, a predecessor that is released before the fence, a shard that answers before it follows the control plane, a check without its control version, a drained
grant that is revoked at one of its addresses. Nor has a generation that is retired too early: its age is a constant, which the simulation shortens, and what is in it counts as expired from then on.

${table(["Mutant", "Caught", "Test"], mutantRows(counts))}
`;
}

function countTable({ runs, counts }: SimulationCounts, meanings: Readonly<Record<string, string>>): string {
  for (const counter of Object.keys(counts)) {
    if (!(counter in faults) && !(counter in events) && !uncounted.test(counter))
      throw new Error(`no meaning is stated for the count "${counter}"`);
  }
  const rows = Object.entries(meanings).map(([counter, meaning]) => [
    meaning,
    counts[counter]?.toLocaleString("en-US") ?? "",
  ]);
  return table(["", `${runs.toLocaleString("en-US")} runs`], rows);
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
