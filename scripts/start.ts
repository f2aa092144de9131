import { join } from "node:path";
import { parseArgs } from "node:util";
import { demoApplications, demoUsers } from "../examples/application/src/demo.ts";
import { escapeStreams } from "../packages/edge-op/src/console/escape-output.ts";
import { adviceFor, DevelopmentRun, type Registered } from "../packages/edge-op/src/dev/run-development.ts";
import { onStop } from "../packages/edge-op/src/dev/serve-development.ts";
import { describeHooks, HooksError, settingsOfHooks } from "../packages/edge-op/src/local-hooks.ts";
import { typicalDistances } from "../packages/edge-op/src/place-workers.ts";
import type { LocalProvider } from "../packages/edge-op/src/run-provider.ts";
import { SettingError, settingsFrom } from "../packages/edge-op/src/settings-variables.ts";
import { buildFromSources } from "../packages/edge-op/src/source-builds.ts";
import { findDeployedFaults, withDeployedTexts } from "../packages/edge-op/src/texts/deployed-texts.ts";
import { repositoryRoot } from "../packages/edge-op/src/workers.ts";
import { rehearseRestore } from "../packages/edge-op/testing/rehearse-restore.ts";
import { onSourceChange } from "./source-changes.ts";

escapeStreams();

const usage = `npm start [-- options]

  --reset     delete the state of earlier runs first
  --compact   run all Workers as one (docs/operating/shapes.md); the state is the same
  --direct    also serve each endpoint Worker on its own port
  --distances delay each call of a Worker to its stores: objects and D1 by 80 ms, KV by 30 ms
  --hooks f   run the Worker f beside the provider, as its hooks (docs/operating/hooks.md): a .ts file, or a wrangler file
  --watch     rebuild and restart when a source file changes (npm run dev)
  --rehearse-restore  back up, destroy and restore a provider of its own, and end (docs/operating/backup.md)
  --verbose   print all log lines of the Workers, including the reason of every refused request

  The demo application listens on the next port (DEMO_PORT), the MCP server and the API that the provider protects on the two
  ports after it (MCP_PORT, API_PORT).
  PORT, HOST and the Workers' settings (DISPLAY_NAME, BRAND_COLOR, REVOCATION_MODE, SERVER_TIMING, …) are read from the environment.`;

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        reset: { type: "boolean", default: false },
        compact: { type: "boolean", default: false },
        direct: { type: "boolean", default: false },
        distances: { type: "boolean", default: false },
        hooks: { type: "string" },
        watch: { type: "boolean", default: false },
        verbose: { type: "boolean", default: false },
        "rehearse-restore": { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    if (!values.help) return values;
    console.log(usage);
    process.exit(0);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exit(2);
  }
}

function readPort(name: string, fallback: number): number {
  const text = process.env[name];
  const value = text === undefined || text === "" ? fallback : Number(text);
  if (Number.isInteger(value) && value > 0 && value < 65_536) return value;
  console.error(`${name} must be a number from 1 to 65535, not "${text}".`);
  process.exit(2);
}

/** Those of the environment go before those that enable the hooks. */
async function readSettings(hooks: string | undefined): Promise<Record<string, string>> {
  try {
    return { ...(hooks === undefined ? {} : await settingsOfHooks(hooks)), ...settingsFrom(process.env) };
  } catch (error) {
    if (!(error instanceof SettingError || error instanceof HooksError)) throw error;
    console.error(error.message);
    process.exit(2);
  }
}

const options = readOptions();
const deployments = join(repositoryRoot, "deployments");
const faults = findDeployedFaults(deployments);
if (faults.length > 0) {
  console.error(faults.join("\n"));
  process.exit(2);
}
const builds = buildFromSources([withDeployedTexts(deployments)]);
if (options["rehearse-restore"]) {
  await rehearseRestore(builds, console.log);
  process.exit(0);
}
const port = readPort("PORT", 8787);
const demoPort = readPort("DEMO_PORT", port + 1);
const applications = {
  mcp: { ...demoApplications.mcp, port: readPort("MCP_PORT", port + 2) },
  api: { ...demoApplications.api, port: readPort("API_PORT", port + 3) },
};
const host = process.env.HOST ?? "127.0.0.1";
/** Every request has its line in `--verbose`. */
const vars = { REQUEST_LOG_PERCENT: "100", ...(await readSettings(options.hooks)) };

function log(line: { readonly level: string; readonly message: string }): void {
  if (options.verbose || line.level === "error" || line.level === "warn")
    console.error(`[${line.level}] ${line.message}`);
}

const run = new DevelopmentRun(builds, {
  port,
  host,
  demoPort,
  applications,
  vars,
  stateDir: join(repositoryRoot, ".op"),
  shape: options.compact ? "compact" : "separate",
  direct: options.direct,
  ...(options.hooks === undefined ? {} : { hooks: { path: options.hooks } }),
  ...(options.distances ? { distances: typicalDistances } : {}),
  onLog: log,
  onProgress: console.log,
});
let stopping = false;
const claimSignals = onStop(async (reason) => {
  stopping = true;
  if (reason === "SIGINT") console.log("\nStopping …");
  await run.stop();
});

function describe(provider: LocalProvider, { administrator }: Registered): string {
  const { origin } = provider;
  const direct = Object.entries(provider.direct).map(([name, url]) => `  ${name.padEnd(14)} ${url}`);
  return `
Edge OP${options.compact ? " (compact: one Worker)" : ""} listens at ${origin}${provider.issuer === origin ? "" : ` as ${provider.issuer}`}
${options.hooks === undefined ? "" : `\nHooks of ${options.hooks}: ${describeHooks(vars)}\n`}${direct.length === 0 ? "" : `\n${direct.join("\n")}\n`}
Try:
  open http://localhost:${demoPort} and sign in as alice, "${demoUsers.alice.password}"
  open ${origin}/console, the console, and sign in as ${administrator?.username}, "${administrator?.password}", with an authenticator app
  curl -u "$(node -p 'let c=require("./.op/dev.json").clients.service; c.client_id+":"+c.client_secret')" \\
    -d grant_type=client_credentials ${origin}/token
  curl -u "$(node -p 'let c=require("./.op/dev.json").clients.asserter; c.client_id+":"+c.client_secret')" \\
    -d grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer -d scope=openid+profile \\
    -d assertion=$(node scripts/demo/assertion.mjs alice) ${origin}/token
  npm run -s mcp -- call whoami, a tool of the MCP server at ${provider.resources["mcp"]}

The demo's clients and users are in .op/dev.json; README.md and docs/tour.md have walks. Ctrl-C stops the provider.
Why a request was refused: ${origin}/dev/refusals${options.verbose ? ". The log follows." : ""}`;
}

try {
  const { provider, registered } = await run.start(options.reset);
  claimSignals();
  console.log(describe(provider, registered));
  if (options.watch) onSourceChange(options.hooks, () => reload(provider));
} catch (error) {
  if (!stopping) {
    console.error(
      adviceFor(error, { otherPort: `PORT=${port + 100} npm start`, anew: "npm start -- --reset" }) ?? error,
    );
    await run.stop();
    process.exit(1);
  }
}

/** If a source has an error, the running Workers are kept. */
async function reload(provider: LocalProvider): Promise<void> {
  if (stopping) return;
  const startedAt = performance.now();
  try {
    await provider.restart();
    claimSignals();
    console.log(`Reloaded in ${Math.round(performance.now() - startedAt)} ms.`);
  } catch (error) {
    console.error(`Not reloaded: ${error instanceof Error ? error.message : String(error)}`);
  }
}
