import { findWorker } from "./find-worker.ts";
import type { Session } from "./session.ts";
import { deployedWorkerName } from "./shape.ts";

/**
 * **`npm run deploy -- tail`**: shows the log of a Worker as it is written; as JSON if a file or a program reads it.
 */
export async function showLog(session: Session, named: string | undefined): Promise<void> {
  const script = deployedWorkerName(session.environment.prefix, findWorker(session, named));
  process.exitCode = await session.showWrangler("tail", script);
}
