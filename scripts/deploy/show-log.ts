import { isFirstDeployment } from "./find-conflicts.ts";
import { Refusal } from "./refusal.ts";
import type { Session } from "./session.ts";
import { deployedWorkerName, workersOf } from "./shape.ts";

/**
 * **`npm run deploy -- tail`**: shows the log of a Worker as it is written, by its name of the separate shape without the prefix. The compact Worker has
 * all of them. Written to a file or a program, it is JSON.
 */
export async function showLog(session: Session, named: string | undefined): Promise<void> {
  const { environment, inventory } = session;
  if (isFirstDeployment(inventory)) throw new Refusal([`The environment "${environment.name}" has not been deployed.`]);
  const own = workersOf(environment).map(({ name }) => name);
  const found = own.length === 1 ? own[0] : own.find((name) => name === named || name === `op-${named}`);
  if (found === undefined)
    throw new Refusal([`Name the Worker: ${own.map((name) => name.replace(/^op-/, "")).join(", ")}.`]);
  process.exitCode = await session.showWrangler("tail", deployedWorkerName(environment.prefix, found));
}
