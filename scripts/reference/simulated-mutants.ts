import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { mutants as controlMutants } from "../../packages/op-state/test/simulation/control-simulation.ts";
import { cutOffMutants } from "../../packages/shared/test/control/cut-off-simulation.ts";

/** Deliberately broken variants that one test must catch. */
export interface MutantGroup {
  readonly test: string;
  readonly file: string;
  readonly mutants: readonly string[];
}

const state = "packages/op-state/test";
const world = "test/simulation/simulation.test.ts";
const worldMutants = "test/simulation/mutants.ts";
const cutOffs = "packages/shared/test/control/cut-off-order.test.ts";

/** **Every mutant of the lease protocol and of revocation**, with the test that catches it. */
export function mutantGroups(): readonly MutantGroup[] {
  return [
    named(world, "the simulation catches %s", worldMutants),
    named(world, "the simulation sees what breaks by %s", worldMutants),
    named(world, "L1: the simulation catches %s", worldMutants),
    named(world, "C1: the simulation catches %s", worldMutants),
    named("test/simulation/moving-grants.test.ts", "the simulation of moving grants catches %s"),
    {
      file: `${state}/control-simulation.test.ts`,
      test: "the simulation of the control plane catches %s",
      mutants: Object.keys(controlMutants),
    },
    { file: cutOffs, test: "%s: caught", mutants: Object.keys(cutOffMutants) },
    named(`${state}/control-plane-model.test.ts`, "a control plane that %s is caught"),
    named(`${state}/control-plane-model.test.ts`, "ADR 28: a control plane that %s is caught"),
    named(`${state}/control-plane-model.test.ts`, "ADR 28: an endpoint that %s is caught"),
    named(`${state}/control-plane-model.test.ts`, "ADR 11: a control plane that %s is caught"),
    named(`${state}/row-lifetime.test.ts`, "finds %s"),
    named("packages/shared/test/control/settle.test.ts", "mutant: %s is noticed"),
  ];
}

/**
 * The mutants of a test that this script cannot load, found by its text: the first strings of the rows before the name of the test, or the keys of
 * the constant that is named there, in that file or another.
 */
function named(file: string, test: string, constants = file): MutantGroup {
  const text = readFileSync(join(repositoryRoot, file), "utf8");
  const until = text.indexOf(`"${test}"`);
  const from = text.lastIndexOf(".each", until);
  if (until < 0 || from < 0) throw new Error(`${file} has no test of mutants "${test}"`);
  const rows = text.slice(from, until);
  const [, constant] = /^\.each\(Object\.entries\((\w+)\)\)/.exec(rows) ?? [];
  const declared = new RegExp(`^(?:export )?const ${constant}\\b[^]*?^};`, "m");
  const table =
    constant === undefined ? rows : declared.exec(readFileSync(join(repositoryRoot, constants), "utf8"))?.[0];
  const found = [...(table ?? "").matchAll(/^ {2}(?: *\[\s*)?"([^"]+)"(?:,|:)/gm)].map(([, name]) => name!);
  if (found.length === 0) throw new Error(`${file} has no mutants for "${test}"`);
  return { file, test, mutants: found };
}
