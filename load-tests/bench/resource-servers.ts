import { parseArgs } from "node:util";
import { basicAuthorization, type Credentials, postForm } from "../../packages/local-provider/src/provider-api.ts";
import { startProvider } from "../lib/start-provider.ts";
import { formatRequest } from "./closed-loop.ts";
import { pinApart } from "./measure-process.ts";
import { findRuntime } from "./process-time.ts";
import { measureInTurns, type Side } from "./turns.ts";

/**
 * **`node load-tests/bench/resource-servers.ts`**: what a resource server pays for each way of validating a token: over the Service Binding, by
 * introspection over HTTP, with the provider's keys, and not at all. One Worker each, on the library for resource servers, beside one
 * provider, loaded in turns. The CPU time is that of the whole runtime: resource server and provider.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    connections: { type: "string", default: "32" },
  },
});
const connections = Number(values.connections);
const turns = {
  loop: { connections, seconds: Number(values.seconds) },
  rounds: Number(values.rounds),
  warmUpSeconds: Math.min(3, Number(values.seconds)),
};
const tokenCount = 200;

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
  const sides = new Map<SideName, Side>();
  for (const [name, resource] of Object.entries(resources) as [SideName, string][]) {
    sides.set(name, await sideOf(name, resource, client, introspector));
  }
  console.log(
    `${connections} connections, ${turns.rounds} rounds of ${values.seconds} s${pinned ? "" : ", not pinned"}\n`,
  );
  console.log(
    "| validated by | requests/s | p50 ms | p95 ms | p99 ms | CPU µs per request |\n| --- | --- | --- | --- | --- | --- |",
  );
  for (const [name, { perSecond, p50Ms, p95Ms, p99Ms, cpuMicros }] of await measureInTurns(sides, turns)) {
    const times = [p50Ms, p95Ms, p99Ms].map((ms) => ms.toFixed(2)).join(" | ");
    console.log(
      `| ${name} | ${Math.round(perSecond)} | ${times} | ${cpuMicros === undefined ? "?" : Math.round(cpuMicros)} |`,
    );
  }
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

async function sideOf(name: SideName, resource: string, client: Credentials, introspector: Credentials): Promise<Side> {
  const { origin } = new URL(resource);
  const tokens: string[] = [];
  while (tokens.length < tokenCount) tokens.push(await issueToken(client, { resource }));
  const requests = tokens.map((token) =>
    formatRequest(origin, "/", {
      Authorization: `Bearer ${token}`,
      "Client-Id": introspector.client_id,
      "Client-Secret": introspector.client_secret,
    }),
  );
  let turn = 0;
  return {
    processId: findRuntime(provider.processId),
    target: {
      origin,
      next: () => requests[turn++ % requests.length]!,
      check: (_, status, body) => {
        if (status !== 200) throw new Error(`${name} responded with ${status}: ${body.slice(0, 200)}`);
      },
    },
  };
}
