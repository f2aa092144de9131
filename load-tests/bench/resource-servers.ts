/**
 * **`node load-tests/bench/resource-servers.ts`**: the cost of each way in which a resource server can validate a token: over the Service Binding, by
 * introspection over HTTP, with the provider's keys, and not at all. Each is a Worker built on the library for resource servers, next to one
 * provider; they are loaded in turns. The CPU time is that of the whole runtime: resource server and provider.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { basicAuthorization, type Credentials, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { readCommandLine } from "../lib/command-line.ts";
import { findK6, howToGetK6, loadTestsRoot } from "../lib/find-k6.ts";
import { table } from "../lib/format.ts";
import { findRuntime, pinApart } from "../lib/process-time.ts";
import { startProvider } from "../lib/start-provider.ts";
import { expectStatus, formatRequest } from "./connection.ts";
import { measureInTurns, type Side } from "./turns.ts";

const usage = `node load-tests/bench/resource-servers.ts [options]

  --rounds N        turns of each (default 5)
  --seconds N       of each turn (default 3)
  --connections N   with one request in flight each (default 32)
  --k6 RATE         instead, all at this rate at once by k6, for --seconds, with revoked tokens in between`;

const { values } = readCommandLine(usage, {
  rounds: { type: "string", default: "5" },
  seconds: { type: "string", default: "3" },
  connections: { type: "string", default: "32" },
  k6: { type: "string" },
});
const connections = Number(values.connections);
const turns = {
  connections,
  seconds: Number(values.seconds),
  rounds: Number(values.rounds),
  warmUpSeconds: Math.min(3, Number(values.seconds)),
};
const tokenCount = 200;
const revokedCount = 20;

const head = `
import { env } from "cloudflare:workers";
import { OAuthResourceServer } from "@edge-op/resource-server";
import { introspectionValidator } from "@edge-op/resource-server/validate-by-introspection";
import { jwtValidator } from "@edge-op/resource-server/validate-jwt";
`;

/** `validateToken` of each side, as source text; the credentials for introspection exist only once the provider runs. */
const validators = {
  "service binding": `(env) => env.PROVIDER.validateToken`,
  introspection: `(_, request) => (validate ??= introspectionValidator({
    endpoint: env.ISSUER + "/introspect",
    clientId: request.headers.get("client-id"),
    clientSecret: request.headers.get("client-secret"),
  }))`,
  "JWT keys": `() => (validate ??= jwtValidator({ issuer: env.ISSUER }))`,
  nothing: `() => (audience) => Promise.resolve({ props: {}, audience, scope: [] })`,
} as const;

type SideName = keyof typeof validators;

const example = { config: "examples/api/wrangler.toml", entry: "examples/api/src/index.ts" };
const applications = Object.fromEntries(
  Object.entries(validators).map(([name, validateToken]) => [
    name,
    {
      ...example,
      source: `${head}
let validate;
export default new OAuthResourceServer({
  resourceMetadata: { resource: env.RESOURCE, authorization_servers: [env.ISSUER] },
  validateToken: ${validateToken},
  handler: { fetch: (_request, _env, { auth }) => Response.json({ user: auth.userId }) },
});`,
    },
  ]),
);

const provider = await startProvider({ applications });
try {
  const pinned = pinApart(findRuntime(provider.processId));
  const resources = provider.resources as Readonly<Record<SideName, string>>;
  const client = await registerClient({ audiences: Object.values(resources), scope: "notes:read" });
  const introspector = await registerClient({ introspection: { clients: ["*"] } });
  const targets = await Promise.all(
    (Object.entries(resources) as [SideName, string][]).map(([name, url]) =>
      describeTarget(name, url, client, introspector),
    ),
  );
  if (values.k6 === undefined) await measureSides(targets, pinned);
  else process.exitCode = runK6(targets, values.k6);
} finally {
  await provider.stop();
}

async function registerClient(metadata: Readonly<Record<string, unknown>>): Promise<Credentials> {
  const token = await issueToken(provider.admin);
  const response = await fetch(`${provider.origin}/admin/clients`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ grant_types: ["client_credentials"], ...metadata }),
  });
  if (response.status !== 201) throw new Error(`a client was not created: ${await response.text()}`);
  return (await response.json()) as Credentials;
}

async function issueToken(client: Credentials, form: Readonly<Record<string, string>> = {}): Promise<string> {
  const authorization = basicAuthorization(client);
  const fields = { grant_type: "client_credentials", ...form };
  const { status, text, body } = await postForm(`${provider.origin}/token`, fields, { authorization });
  if (status !== 200) throw new Error(`no token: ${text}`);
  return String(body["access_token"]);
}

interface ValidationTarget {
  readonly name: SideName;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tokens: readonly string[];
  /** Revoked tokens, for validators that detect revocations. */
  readonly revoked: readonly string[];
}

async function describeTarget(
  name: SideName,
  url: string,
  client: Credentials,
  introspector: Credentials,
): Promise<ValidationTarget> {
  const tokens: string[] = [];
  while (tokens.length < tokenCount) tokens.push(await issueToken(client, { resource: url }));
  const learns = name === "service binding" || name === "introspection";
  const revoked = learns ? tokens.splice(0, revokedCount) : [];
  const authorization = basicAuthorization(client);
  for (const token of revoked) await postForm(`${provider.origin}/revoke`, { token }, { authorization });
  const headers = { "Client-Id": introspector.client_id, "Client-Secret": introspector.client_secret };
  return { name, url, headers, tokens, revoked };
}

async function measureSides(targets: readonly ValidationTarget[], isPinned: boolean): Promise<void> {
  const sides = new Map(targets.map((target) => [target.name, sideOf(target)]));
  const { rounds, seconds } = turns;
  console.log(`${connections} connections, ${rounds} rounds of ${seconds} s${isPinned ? "" : ", not pinned"}\n`);
  const header = ["validated by", "requests/s", "p50 ms", "p95 ms", "p99 ms", "CPU µs per request"];
  const rows = [...(await measureInTurns(sides, turns))].map(([name, measured]) => [
    name,
    Math.round(measured.perSecond),
    ...[measured.p50Ms, measured.p95Ms, measured.p99Ms].map((ms) => ms.toFixed(2)),
    measured.cpuMicros === undefined ? "?" : Math.round(measured.cpuMicros),
  ]);
  console.log(table(header, rows));
}

function sideOf({ name, url, headers, tokens }: ValidationTarget): Side {
  const { origin } = new URL(url);
  const requests = tokens.map((token) => formatRequest(origin, "/", { Authorization: `Bearer ${token}`, ...headers }));
  let turn = 0;
  return {
    processId: findRuntime(provider.processId),
    target: {
      origin,
      next: () => requests[turn++ % requests.length]!,
      check: (_, status, body) => expectStatus(name, status, body),
    },
  };
}

/** Runs k6 and returns its exit code. */
function runK6(targets: readonly ValidationTarget[], rate: string): number {
  const k6 = findK6((line) => console.log(line));
  if (k6 === undefined) throw new Error(howToGetK6);
  const directory = mkdtempSync(join(tmpdir(), "edge-op-validation-"));
  try {
    const path = join(directory, "targets.json");
    writeFileSync(path, JSON.stringify(targets), { mode: 0o600 });
    const settings = [`TARGETS=${path}`, `RATE=${rate}`, `SECONDS=${values.seconds}`].flatMap((pair) => ["-e", pair]);
    const script = join(import.meta.dirname, "resource-servers.k6.js");
    const run = spawnSync(k6.command, [...k6.arguments, "run", ...settings, script], {
      cwd: loadTestsRoot,
      stdio: "inherit",
      env: { ...process.env, K6_NO_USAGE_REPORT: "true" },
    });
    return run.status ?? 1;
  } finally {
    rmSync(directory, { recursive: true });
  }
}
