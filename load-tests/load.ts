/** **`npm run load -- <scenario> <preset>`**: finds k6, seeds, runs, checks, and writes the report. Exits 0 only for a run that passed. */

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { describeCommit, describeMachine, describeShards, findProviderProcess } from "./lib/circumstances.ts";
import { readCommandLine } from "./lib/command-line.ts";
import { startDocumentServer } from "./lib/document-server.ts";
import { findK6, howToGetK6, type K6, loadTestsRoot } from "./lib/find-k6.ts";
import { measureMachineLoad } from "./lib/machine-load.ts";
import {
  type Load,
  loadOf,
  presetsOf,
  readsMail,
  type ScenarioName,
  type Shape,
  scenarioNames,
  shapes,
} from "./lib/presets.ts";
import type { Deployment } from "./lib/start-provider.ts";
import { type K6Summary, readSummary } from "./report/read-summary.ts";
import { renderReport } from "./report/render.ts";
import { limitOf, type RunRecord, verdictOf } from "./report/run-record.ts";
import { redirectUri } from "./seed/provision.ts";
import { seedFor } from "./seed/seed.ts";

const usage = `npm run load -- <scenario> <preset> [options]

  scenarios  ${scenarioNames.join(", ")}
  presets    ${scenarioNames.map((name) => `${name}: ${presetsOf(name).join(" ")}`).join("\n             ")}
             or rps<rate> for any other rate

  --shape reference|hold|probe
                           the published shape (default), the full rate throughout, or the full rate for half a minute
  --origin URL             where the provider listens (default: the issuer in .op/dev.json)
  --seeds FILE|URL         use these seeds unchanged
  --reseed                 create new seeds
  --seed-only              create seeds if needed and print their path, without a run
  --dpop                   tokens bound to a key, and a proof with each request: exchange, refresh, userinfo
  --documents URL          documents: where metadata documents are, for a provider that is not local: {URL}/<any path>
                           must respond with a document of this client_id
  --total N                seeds in all, instead of the published number
  --seed-directory DIR     where seeds are kept (default: .op/load/<host>)
  --variant TEXT           label of this run in the report, to distinguish runs of a preset ("32 shards, cache")
  --mode TEXT              the provider's revocation mode, for the report
  --topology TEXT          front door (default), or what the origin is
  --out DIR                where results go (default: .op/load/results)

  Administrator: OP_ADMIN_CLIENT_ID and OP_ADMIN_CLIENT_SECRET, or .op/dev.json.`;

const dpopScenarios: readonly ScenarioName[] = ["exchange", "refresh", "userinfo"];
const stateDirectory = join(loadTestsRoot, "..", ".op");

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

const given = readCommandLine(usage, {
  shape: { type: "string", default: "reference" },
  origin: { type: "string" },
  seeds: { type: "string" },
  reseed: { type: "boolean", default: false },
  "seed-only": { type: "boolean", default: false },
  dpop: { type: "boolean", default: false },
  documents: { type: "string" },
  total: { type: "string" },
  variant: { type: "string", default: "" },
  mode: { type: "string", default: process.env.REVOCATION_MODE ?? "strict" },
  topology: { type: "string", default: "front door" },
  "seed-directory": { type: "string" },
  out: { type: "string", default: join(stateDirectory, "load", "results") },
});
const { values } = given;

async function findDeployment(origin: string | undefined): Promise<Deployment> {
  const devFile = join(stateDirectory, "dev.json");
  const { OP_ADMIN_CLIENT_ID: client_id, OP_ADMIN_CLIENT_SECRET: client_secret } = process.env;
  const known = existsSync(devFile)
    ? (JSON.parse(readFileSync(devFile, "utf8")) as Pick<Deployment, "issuer" | "admin">)
    : undefined;
  const admin = client_id !== undefined && client_secret !== undefined ? { client_id, client_secret } : known?.admin;
  const at = origin ?? known?.issuer;
  if (admin === undefined || at === undefined) {
    fail("No provider: start one with `npm start`, or give --origin, OP_ADMIN_CLIENT_ID and OP_ADMIN_CLIENT_SECRET.");
  }
  const metadata = await fetch(`${at}/.well-known/openid-configuration`).catch((error: Error) =>
    fail(`${at} does not respond: ${String(error.cause ?? error)}. Start it with \`npm start\`, or give --origin.`),
  );
  if (!metadata.ok) fail(`${at} responds to discovery with ${metadata.status}: is it the provider?`);
  const { issuer } = (await metadata.json()) as { issuer: string };
  return { origin: at, issuer, admin };
}

/** Runs k6 with its progress shown and returns its exit code. A Ctrl-C reaches both processes. */
function runK6(k6: K6, script: string, settings: Readonly<Record<string, string>>): Promise<number> {
  const environment = Object.entries(settings).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
  return new Promise((resolve, reject) => {
    const child = spawn(k6.command, [...k6.arguments, "run", ...environment, script], {
      cwd: loadTestsRoot,
      stdio: "inherit",
      env: { ...process.env, K6_NO_USAGE_REPORT: "true" },
    });
    child.on("error", reject);
    child.on("exit", (code) => resolve(code ?? 1));
  });
}

/** Returns a URL unchanged and a file as an absolute path, because k6 runs in another directory. */
function seedsGiven(source: string | undefined): string | undefined {
  return source === undefined || /^https?:/.test(source) ? source : resolve(source);
}

interface Plan {
  readonly scenario: ScenarioName;
  readonly load: Load;
  readonly deployment: Deployment;
  readonly k6: K6;
}

async function readPlan(): Promise<Plan> {
  const [scenarioText, preset] = given.positionals;
  const scenario = scenarioNames.find((name) => name === scenarioText);
  const shape = shapes.find((name): name is Shape => name === values.shape);
  if (scenario === undefined || preset === undefined || shape === undefined) fail(usage);
  if (values.dpop && !dpopScenarios.includes(scenario)) fail(`--dpop is for ${dpopScenarios.join(", ")}`);
  const k6 = findK6((line) => console.log(line)) ?? fail(howToGetK6);
  return {
    scenario,
    load: loadOf(scenario, preset, shape),
    deployment: await findDeployment(values.origin),
    k6,
  };
}

/** Codes are read from the mailbox of a local provider, and newcomers must be let in. */
async function requireMail({ origin }: Deployment, scenario: ScenarioName): Promise<void> {
  const mailbox = await fetch(`${origin}/dev/mailbox`);
  if (!mailbox.ok)
    fail(`${scenario} reads mailed codes at ${origin}/dev/mailbox, which \`npm start\` serves on loopback.`);
  const metadata = (await (await fetch(`${origin}/.well-known/openid-configuration`)).json()) as {
    prompt_values_supported?: readonly string[];
  };
  if (scenario === "signup" && metadata.prompt_values_supported?.includes("create") !== true)
    fail("signup needs SIGN_UP=open: `SIGN_UP=open npm start`.");
}

const { scenario, load, deployment, k6 } = await readPlan();
if (readsMail(scenario)) await requireMail(deployment, scenario);
const host = new URL(deployment.origin).host.replace(":", "-");
const isLocal = ["localhost", "127.0.0.1"].includes(new URL(deployment.issuer).hostname);
if (scenario === "documents" && values.documents === undefined && !isLocal) fail("documents needs --documents URL");
const documentServer =
  scenario === "documents" && values.documents === undefined ? await startDocumentServer(redirectUri) : undefined;
const seeds =
  seedsGiven(values.seeds) ??
  (await seedFor(deployment, {
    scenario,
    load,
    total: values.total === undefined ? undefined : Number(values.total),
    directory: values["seed-directory"] ?? join(stateDirectory, "load", host),
    reseed: values.reseed,
    dpop: values.dpop,
    documents: values.documents ?? documentServer?.url,
    say: (line) => console.log(`seeding: ${line}`),
  }));
if (values["seed-only"]) {
  documentServer?.stop();
  console.log(seeds);
  process.exit(0);
}

const startedAt = new Date();
const machineLoad = measureMachineLoad(findProviderProcess(join(stateDirectory, "process.pid"), deployment.origin));
const name = `${startedAt.toISOString().replaceAll(/[:.]/g, "-")}-${scenario}-${load.preset}-${load.shape}`;
const directory = join(values.out, name);
mkdirSync(directory, { recursive: true });
const summaryPath = join(directory, "summary.json");
const exitCode = await runK6(k6, join("scenarios", `${scenario}.js`), {
  PRESET: load.preset,
  SHAPE: load.shape,
  SEEDS: seeds,
  ORIGIN: deployment.origin,
  RESULT: summaryPath,
  ...(values.total === undefined ? {} : { SEED_TOTAL: values.total }),
  ...(process.env.REFRESH_GRACE === undefined ? {} : { REFRESH_GRACE: process.env.REFRESH_GRACE }),
});
documentServer?.stop();
if (!existsSync(summaryPath)) fail(`k6 did not run (exit code ${exitCode}).`);

const usedMachine = machineLoad();
const summary = JSON.parse(readFileSync(summaryPath, "utf8")) as K6Summary;
const record: RunRecord = {
  format: 1,
  scenario,
  variant: [...(values.dpop ? ["DPoP"] : []), values.variant].filter((text) => text !== "").join(", "),
  load,
  startedAt: startedAt.toISOString(),
  endedAt: new Date().toISOString(),
  command: `npm run load -- ${process.argv.slice(2).join(" ")}`,
  commit: describeCommit(),
  target: {
    origin: deployment.origin,
    issuer: deployment.issuer,
    mode: values.mode,
    topology: values.topology,
    shardMap: await describeShards(deployment),
  },
  machine: describeMachine(k6.version, deployment.origin),
  ...(usedMachine === undefined ? {} : { machineLoad: usedMachine }),
  outcome: readSummary(summary, scenario, load, exitCode),
};
writeFileSync(join(directory, "run.json"), `${JSON.stringify(record, null, 2)}\n`);
const verdict = verdictOf(record.outcome);
const report = renderReport(`${scenario} ${load.preset}, ${load.shape}: ${verdict}`, [record]);
writeFileSync(join(directory, "report.md"), report.markdown);
writeFileSync(join(directory, "report.html"), report.html);
console.log(`\nlimited by ${limitOf(record)}`);
console.log(`${basename(directory)}: ${verdict}\n${join(directory, "report.html")}`);
process.exit(verdict === "pass" ? 0 : 1);
