import { createRequire } from "node:module";
import { join } from "node:path";
import { runtimeModule } from "./runtime.ts";

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
