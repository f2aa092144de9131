/**
 * **`npm start`**: the provider with its demo at http://localhost:8787, its state in `.op/`. Set-up and seeding use a different port, so that
 * everything is complete when `GET /health` first succeeds.
 */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type DemoRp, startDemoRp } from "../packages/demo-rp/src/start-demo-rp.ts";
import { resourceOf } from "../packages/local-provider/src/applications.ts";
import { exampleApplications } from "../packages/local-provider/src/example-applications.ts";
import { isPortFree } from "../packages/local-provider/src/free-port.ts";
import {
  type LocalProvider,
  PortTakenError,
  startLocalProvider,
} from "../packages/local-provider/src/local-provider.ts";
import { settingsFrom } from "../packages/local-provider/src/settings-variables.ts";
import { lockState, StateInUseError } from "../packages/local-provider/src/state-lock.ts";
import { repositoryRoot } from "../packages/local-provider/src/workers.ts";
import { demoUsers } from "./demo/demo.ts";
import { seedDemo } from "./demo/seed-demo.ts";
import { onSourceChange } from "./source-changes.ts";
import { onStop } from "./stop-signals.ts";

const usage = `npm start [-- options]

  --reset     delete the state of earlier runs first
  --compact   run all Workers as one (docs/operating/shapes.md); the state is the same
  --direct    also serve each endpoint Worker on its own port
  --watch     rebuild and restart when a source file changes (npm run dev)
  --verbose   print all log lines of the Workers, including the reason of every refused request

  The demo application listens on the next port (DEMO_PORT), the MCP server and the API that the provider protects on the two
  ports after it (MCP_PORT, API_PORT).
  PORT, HOST and the Workers' settings (ISSUER, REVOCATION_MODE, SERVER_TIMING, …) are read from the environment.`;

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        reset: { type: "boolean", default: false },
        compact: { type: "boolean", default: false },
        direct: { type: "boolean", default: false },
        watch: { type: "boolean", default: false },
        verbose: { type: "boolean", default: false },
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

const stateDir = join(repositoryRoot, ".op");
const options = readOptions();
const port = readPort("PORT", 8787);
const demoPort = readPort("DEMO_PORT", port + 1);
const applications = {
  mcp: { ...exampleApplications.mcp, port: readPort("MCP_PORT", port + 2) },
  api: { ...exampleApplications.api, port: readPort("API_PORT", port + 3) },
};
const host = process.env.HOST ?? "127.0.0.1";
const shape = options.compact ? "compact" : "separate";
/** With `--verbose`, every request has its log line. */
const vars = { ISSUER: `http://localhost:${port}`, REQUEST_LOG_PERCENT: "100", ...settingsFrom(process.env) };

function log(line: { readonly level: string; readonly message: string }): void {
  if (options.verbose || line.level === "error" || line.level === "warn")
    console.error(`[${line.level}] ${line.message}`);
}

let running: LocalProvider | undefined;
let relyingParty: DemoRp | undefined;
let stopping = false;
const claimSignals = onStop(async (reason) => {
  stopping = true;
  if (reason === "SIGINT") console.log("\nStopping …");
  await Promise.all([running?.stop(), relyingParty?.stop()]);
});

/** Deletes all state except the lock that this process holds. */
function wipe(): void {
  for (const name of ["state", "secrets.json", "dev.json", "mcp-client.json"]) {
    rmSync(join(stateDir, name), { recursive: true, force: true });
  }
}

async function start(): Promise<LocalProvider> {
  for (const wanted of [port, demoPort, applications.mcp.port, applications.api.port]) {
    if (!(await isPortFree(host, wanted))) throw new PortTakenError(wanted);
  }
  process.once("exit", lockState(stateDir));
  if (options.reset) wipe();
  console.log("Setting up: database, keys, first admin client, demo …");
  running = await startLocalProvider({ shape, host, stateDir, vars, onLog: log });
  const resources = { mcp: resourceOf(applications.mcp), api: resourceOf(applications.api) };
  const { clients } = await seedDemo(running, join(stateDir, "dev.json"), `http://localhost:${demoPort}`, resources);
  await running.stop();
  console.log(options.compact ? "Starting the compact Worker …" : "Starting the Workers …");
  running = await startLocalProvider({
    shape,
    port,
    host,
    stateDir,
    vars,
    direct: options.direct,
    applications,
    onLog: log,
  });
  relyingParty = await startDemoRp({ port: demoPort, issuer: running.issuer, client: clients.app });
  return running;
}

function describe(provider: LocalProvider): string {
  const { origin } = provider;
  const direct = Object.entries(provider.direct).map(([name, url]) => `  ${name.padEnd(14)} ${url}`);
  return `
Edge OP${options.compact ? " (compact: one Worker)" : ""} listens at ${origin}${provider.issuer === origin ? "" : ` as ${provider.issuer}`}
${direct.length === 0 ? "" : `\n${direct.join("\n")}\n`}
Try:
  open http://localhost:${demoPort} and sign in as alice, "${demoUsers.alice.password}"
  curl -u "$(node -p 'let c=require("./.op/dev.json").clients.service; c.client_id+":"+c.client_secret')" \\
    -d grant_type=client_credentials ${origin}/token
  curl -u "$(node -p 'let c=require("./.op/dev.json").clients.asserter; c.client_id+":"+c.client_secret')" \\
    -d grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer -d scope=openid+profile \\
    -d assertion=$(node scripts/demo/assertion.mjs alice) ${origin}/token
  npm run -s mcp -- call whoami, a tool of the MCP server at ${provider.resources["mcp"]}

The demo's clients and users are in .op/dev.json; the README has two walks. Ctrl-C stops the provider.
${options.verbose ? "The log follows." : "To see why a request was refused, run npm start -- --verbose."}`;
}

try {
  const provider = await start();
  claimSignals();
  console.log(describe(provider));
  if (options.watch) onSourceChange(() => reload(provider));
} catch (error) {
  if (!stopping) {
    console.error(advice(error));
    await running?.stop();
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

function advice(error: unknown): unknown {
  if (error instanceof PortTakenError) {
    return `${error.message} Stop the process that listens there, or choose another port: PORT=${port + 100} npm start`;
  }
  if (error instanceof StateInUseError) return `${error.message} Stop it first; it may listen on another port.`;
  return error;
}
