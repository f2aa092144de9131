import { parseArgs } from "node:util";
import type { Builds } from "../builds.ts";
import { readSeedFile, SeedError } from "../demo/read-seed-file.ts";
import { HooksError } from "../local-hooks.ts";
import { prepareRuntime, RuntimeError } from "../runtime.ts";
import { SettingError } from "../settings-variables.ts";

const usage = `edge-op dev [options]

  --port <port>     8787 by default; the demo application listens on the next one
  --seed <file>     clients, users, roles and resources of a JSON file in place of the demo's (docs/test-provider.md)
  --data <folder>   keep the state, secrets and keys in this folder; without it, nothing is kept
  --hooks <file>    run a Worker of yours as the provider's hooks (docs/operating/hooks.md): a .ts file, or a wrangler file
  --verbose         print all log lines, including the reason of every refused request

The settings of the Workers (DISPLAY_NAME, SESSION_IDLE, …) are read from the environment.`;

class UsageError extends Error {
  override readonly name = "UsageError";
}

export type DevOptions = ReturnType<typeof readOptions>;

function readOptions(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        port: { type: "string", default: "8787" },
        seed: { type: "string" },
        data: { type: "string" },
        hooks: { type: "string" },
        verbose: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    const port = Number(values.port);
    if (!Number.isInteger(port) || port < 1 || port > 65_534) {
      throw new UsageError(`--port must be a number from 1 to 65534, not "${values.port}".`);
    }
    return { ...values, port };
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(error instanceof Error ? error.message : String(error));
  }
}

const mendable = [UsageError, SeedError, SettingError, HooksError, RuntimeError];

/** **`edge-op dev`**: the compact Worker on this machine, from the bundle in the package. `root`: the folder of the package. */
export async function runDevCommand(builds: Builds, root: string, args: readonly string[]): Promise<void> {
  try {
    const options = readOptions(args);
    if (options.help) return console.log(usage);
    const seed = options.seed === undefined ? undefined : readSeedFile(options.seed);
    await prepareRuntime(root, (text) => console.error(text));
    // Its modules import the runtime.
    const { serveDevelopment } = await import("./serve-development.ts");
    await serveDevelopment(builds, options, seed);
  } catch (error) {
    if (!mendable.some((kind) => error instanceof kind)) throw error;
    const { message } = error as Error;
    console.error(error instanceof UsageError ? `${message}\n\n${usage}` : message);
    process.exitCode = 2;
  }
}
