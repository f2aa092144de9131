import { resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Builds } from "../builds.ts";
import { readSeedFile, SeedError } from "../demo/read-seed-file.ts";
import type { Seed } from "../demo/seed.ts";
import { describeHooks, HooksError, settingsOfHooks } from "../local-hooks.ts";
import type { LogLine } from "../log-line.ts";
import type { LocalProvider } from "../run-provider.ts";
import { SettingError, settingsFrom } from "../settings-variables.ts";
import { adviceFor, DevelopmentRun, type Registered } from "./run-development.ts";
import { onStop } from "./stop-signals.ts";

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

const mendable = [UsageError, SeedError, SettingError, HooksError];

/** **`edge-op dev`**: the compact Worker on this machine, from the bundle in the package. */
export async function runDevCommand(builds: Builds, args: readonly string[]): Promise<void> {
  try {
    const options = readOptions(args);
    if (options.help) return console.log(usage);
    await run(builds, options, options.seed === undefined ? undefined : readSeedFile(options.seed));
  } catch (error) {
    if (!mendable.some((kind) => error instanceof kind)) throw error;
    const { message } = error as Error;
    console.error(error instanceof UsageError ? `${message}\n\n${usage}` : message);
    process.exitCode = 2;
  }
}

async function run(
  builds: Builds,
  { port, data, hooks, verbose }: ReturnType<typeof readOptions>,
  seed: Seed | undefined,
): Promise<void> {
  const startedAt = performance.now();
  const log = ({ level, message }: LogLine): void => {
    if (verbose || level === "error" || level === "warn") console.error(`[${level}] ${message}`);
  };
  const ofHooks = hooks === undefined ? {} : await settingsOfHooks(hooks);
  const vars = { REQUEST_LOG_PERCENT: "100", ...ofHooks, ...settingsFrom(process.env) };
  const development = new DevelopmentRun(builds, {
    port,
    host: "127.0.0.1",
    demoPort: port + 1,
    shape: "compact",
    vars,
    ...(data === undefined ? {} : { stateDir: resolve(data) }),
    ...(seed === undefined ? {} : { seed }),
    ...(hooks === undefined ? {} : { hooks: { path: hooks } }),
    onLog: log,
    onProgress: () => undefined,
  });
  const claimSignals = onStop(() => development.stop());
  try {
    const { provider, registered } = await development.start();
    claimSignals();
    console.log(describe(provider, registered, seed === undefined ? port + 1 : undefined));
    if (hooks !== undefined) console.log(`Hooks of ${hooks}: ${describeHooks(vars)}\n`);
    console.log(`Ready in ${((performance.now() - startedAt) / 1000).toFixed(1)} s. Ctrl-C stops it.`);
  } catch (error) {
    await development.stop();
    const advice = adviceFor(error, { otherPort: `--port ${port + 100}`, anew: `rm -r ${data ?? ""}` });
    if (advice === undefined) throw error;
    console.error(advice);
    process.exit(1);
  }
}

function describe(
  { origin }: LocalProvider,
  { admin, clients, users, administrator }: Registered,
  demoPort: number | undefined,
): string {
  const lines = [
    `Edge OP listens at ${origin}`,
    `  refusals    ${origin}/dev/refusals`,
    `  mailbox     ${origin}/dev/mailbox`,
    `  console     ${origin}/console`,
    `  discovery   ${origin}/.well-known/openid-configuration`,
    ...(demoPort === undefined ? [] : [`  demo        http://localhost:${demoPort}`]),
    "",
    "Users",
    ...[...Object.values(users), administrator ?? []]
      .flat()
      .map(({ username, password }) => `  ${username.padEnd(28)} ${password}`),
    "",
    "Clients",
    ...[admin, ...Object.values(clients)].map(
      ({ client_id: id, client_secret: secret }) => `  ${id.padEnd(28)} ${secret === "" ? "(public)" : secret}`,
    ),
    "",
  ];
  return lines.join("\n");
}
