import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../packages/local-provider/src/workers.ts";
import { mutants as controlMutants } from "../../packages/op-state/test/simulation/control-simulation.ts";
import * as lease from "../../packages/op-state/test/simulation/lease-wiring.ts";
import * as relay from "../../packages/op-state/test/simulation/relay-wiring.ts";
import { cutOffMutants } from "../../packages/shared/test/control/cut-off-simulation.ts";

/** The deliberately broken variants that one test must catch. */
export interface MutantGroup {
  readonly test: string;
  readonly file: string;
  readonly mutants: readonly string[];
}

const state = "packages/op-state/test";
const leases = `${state}/lease-simulation.test.ts`;
const relays = `${state}/relay-simulation.test.ts`;
const control = `${state}/control-simulation.test.ts`;
const cutOffs = "packages/shared/test/control/cut-off-order.test.ts";

/** **Every mutant of the lease protocol and of what is revoked by it**, with the test that catches it. */
export function mutantGroups(): readonly MutantGroup[] {
  return [
    group(leases, "the simulation catches %s", lease.mutants),
    group(leases, "the simulation catches %s", lease.filterMutants),
    group(leases, "I2: the simulation sees a lease that outlives the shard's, by %s", lease.leaseEndMutants),
    group(relays, "the simulation of relays catches %s", relay.relayMutants),
    group(relays, "the simulation of relays sees what breaks by %s", relay.clockMutants),
    group(relays, "I2: the simulation sees a lease that outlives its server's, by %s", relay.relayLeaseEndMutants),
    group(relays, "L1: the simulation of relays catches %s", relay.waitingMutants),
    group(relays, "C1: the simulation of relays catches %s", relay.costlyMutants),
    group(control, "the simulation of the control plane catches %s", controlMutants),
    group(cutOffs, "%s: caught", cutOffMutants),
    named(`${state}/control-plane-model.test.ts`, "a control plane that %s is caught"),
    named(`${state}/control-plane-model.test.ts`, "ADR 26: a control plane that %s is caught"),
    named(`${state}/control-plane-model.test.ts`, "ADR 26: an endpoint that %s is caught"),
    named(`${state}/control-plane-model.test.ts`, "ADR 64: a control plane that %s is caught"),
    named(`${state}/row-lifetime.test.ts`, "finds %s"),
    named("packages/shared/test/control/settle.test.ts", "mutant: %s is noticed"),
  ];
}

function group(file: string, test: string, mutants: Readonly<Record<string, unknown>>): MutantGroup {
  return { file, test, mutants: Object.keys(mutants) };
}

/**
 * Of a test that runs in workerd alone, by its text: the first strings of the rows before the name of the test, or the keys of the constant
 * that is named there.
 */
function named(file: string, test: string): MutantGroup {
  const text = readFileSync(join(repositoryRoot, file), "utf8");
  const until = text.indexOf(`"${test}"`);
  const from = text.lastIndexOf(".each", until);
  if (until < 0 || from < 0) throw new Error(`${file} has no test of mutants "${test}"`);
  const rows = text.slice(from, until);
  const [, constant] = /^\.each\(Object\.entries\((\w+)\)\)/.exec(rows) ?? [];
  const table = constant === undefined ? rows : new RegExp(`^const ${constant}\\b[^]*?^};`, "m").exec(text)?.[0];
  const found = [...(table ?? "").matchAll(/^ {2}(?: *\[\s*)?"([^"]+)"(?:,|:)/gm)].map(([, name]) => name!);
  if (found.length === 0) throw new Error(`${file} has no mutants for "${test}"`);
  return { file, test, mutants: found };
}
