import { createRequire } from "node:module";
import { join } from "node:path";
import type { Miniflare } from "miniflare";
import { runtimeModule } from "./runtime.ts";

/** **A line that a Worker or the runtime has written.** */
export interface LogLine {
  readonly level: string;
  readonly message: string;
}

/** **Calls a Worker that was added to the provider's**, for operations that Miniflare lacks or can only do by blocking this process. */
export async function callHelper(runtime: Miniflare, name: string, path = "/", message?: unknown): Promise<unknown> {
  const worker = await runtime.getWorker(name);
  const init = message === undefined ? {} : { method: "POST", body: JSON.stringify(message) };
  const response = await worker.fetch(`http://${name}${path}`, init);
  if (!response.ok) throw new Error(`the Worker ${name} responds with ${response.status}: ${await response.text()}`);
  return response.json();
}

/**
 * **Ends every workerd of this process when the process ends**, also after SIGKILL, which runs no handler: Miniflare starts workerd through a shell
 * script that watches the parent. This is not done on Windows, which lacks such a shell.
 */
export function endRuntimesWithThisProcess(): void {
  if (process.platform === "win32" || process.env.MINIFLARE_WORKERD_PATH !== undefined) return;
  const requireAsMiniflare = createRequire(runtimeModule());
  const { default: workerd } = requireAsMiniflare("workerd") as { readonly default: string };
  process.env.EDGE_OP_WORKERD = workerd;
  process.env.MINIFLARE_WORKERD_PATH = join(import.meta.dirname, "workerd-of-parent.sh");
}
