import type { WorkerName } from "../../packages/edge-op/src/workers.ts";
import { isFirstDeployment } from "./find-conflicts.ts";
import { Refusal } from "./refusal.ts";
import type { Session } from "./session.ts";
import { workersOf } from "./shape.ts";

/** **The Worker that an operator names**, `token` for example. The compact Worker has every endpoint, and every name. */
export function findWorker({ environment, inventory }: Session, named: string | undefined): WorkerName {
  if (isFirstDeployment(inventory)) throw new Refusal([`The environment "${environment.name}" has not been deployed.`]);
  const own = workersOf(environment).map(({ name }): WorkerName => name);
  const found = own.length === 1 ? own[0] : own.find((name) => name === named || name === `op-${named}`);
  if (found !== undefined) return found;
  throw new Refusal([`Name the Worker: ${own.map((name) => name.replace(/^op-/, "")).join(", ")}.`]);
}
