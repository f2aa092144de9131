/**
 * **Measures what happens to a refresh token that several processes of one agent hold**: `node scripts/with-toolchain.mjs
 * test/products/mcp/shared-refresh.ts [grace]`. Four processes call a tool at random times, for hours of the provider's and their own clock.
 */

import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { findFreePort } from "../../../packages/edge-op/src/free-port.ts";
import type * as Testing from "../../../packages/edge-op/testing/testing.ts";
import { EmptyFolder } from "../../conformance/fixtures/packed-package.ts";
import { servers } from "./servers.ts";
import { ProgramSession } from "./sessions.ts";

const hours = Number(process.env["HOURS"] ?? 12);
const processes = 4;
const [graceText = "30", only = ""] = process.argv.slice(2);

const folder = new EmptyFolder();
await folder.install("edge-op", ["miniflare"]);
const testing = (await import(
  pathToFileURL(folder.file("node_modules/edge-op/dist/testing/testing.js")).href
)) as typeof Testing;
const agent = join(import.meta.dirname, "programs/agent.ts");

interface Kind {
  readonly name: string;
  readonly command: string;
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}
const kinds: readonly Kind[] = [
  {
    name: "TypeScript SDK 2.4, file read at every use",
    command: process.execPath,
    words: [agent],
    environment: { HOLDS: "file" },
  },
  {
    name: "TypeScript SDK 2.4, tokens kept in memory",
    command: process.execPath,
    words: [agent],
    environment: { HOLDS: "memory" },
  },
  {
    name: "the same, refreshes 30 s before expiry (as Codex)",
    command: process.execPath,
    words: [agent],
    environment: { HOLDS: "memory", EARLY: "30" },
  },
];
const pauses = [
  ["5 s", 5],
  ["1 min", 60],
  ["10 min", 600],
  ["1 h", 3600],
  ["90 min, all four at once", 0],
] as const;

/** A generator of numbers in [0, 1) with a seed: each kind sees the same times. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

async function measure(kind: Kind, pauseSeconds: number): Promise<string> {
  const provider = await testing.createTestProvider();
  const port = await findFreePort("127.0.0.1");
  const resource = `http://127.0.0.1:${port}/mcp`;
  await provider.admin("POST", "/resources", {
    identifier: resource,
    name: "Notes",
    clients: "any",
    scopes: [{ value: "notes:read", description: "Read", default: true }],
  });
  const introspector = await provider.createClient({
    client_id: "notes-server",
    grant_types: ["client_credentials"],
    introspection: { audiences: [resource] },
  });
  const isConfidential = Number(graceText) > 30;
  const { client_secret: agentSecret } = await provider.createClient({
    client_id: "agent",
    application_type: "native",
    token_endpoint_auth_method: isConfidential ? "client_secret_post" : "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    redirect_uris: ["http://127.0.0.1/callback"],
    scope: "offline_access",
    refresh_token_grace: Number(graceText),
  });
  const { command, words, cwd } = await servers.node.program(folder);
  const server = spawn(command, words, {
    cwd,
    env: {
      ...process.env,
      ISSUER: provider.issuer,
      RESOURCE: resource,
      CLIENT_SECRET: introspector.client_secret,
      PORT: String(port),
    },
    stdio: "ignore",
  });
  const signIn = async (request: IncomingMessage): Promise<string> => {
    let url = "";
    for await (const part of request) url += String(part);
    const arrival = await new testing.Person(provider.issuer, provider.users["alice"]!).visit(url);
    return arrival.url.searchParams.toString();
  };
  const personServer = createServer((request, response) => {
    void signIn(request).then((query) => response.end(query));
  });
  await new Promise<void>((resolve) => personServer.listen(0, "127.0.0.1", resolve));
  const person = `http://127.0.0.1:${(personServer.address() as AddressInfo).port}/`;
  const tokens = folder.file("tokens.json");
  rmSync(tokens, { force: true });
  const environment = {
    ...process.env,
    ...kind.environment,
    ...(isConfidential ? { CLIENT_SECRET: agentSecret } : {}),
    TOKENS_FILE: tokens,
    MCP_SERVER: resource,
    ISSUER: provider.issuer,
  };
  const isListening = () =>
    fetch(resource, { method: "POST" }).then(
      ({ status }) => status === 401,
      () => false,
    );
  while (!(await isListening())) await sleep(100);
  const start = (own: Record<string, string>) =>
    new ProgramSession(kind.command, kind.words, { ...environment, ...own });
  const running: ProgramSession[] = [];
  const startMs = Date.now();
  let nowMs = startMs;
  let refreshes = 0;
  const next = random(42);
  const pause = () => -Math.log(1 - next()) * pauseSeconds * 1000;
  try {
    const first = start({ PERSON: person });
    await first.send({ nowMs });
    await first.stop();
    for (let index = 0; index < processes; index += 1) running.push(start({}));
    const expiries: number[] = [];
    for (const session of running) expiries.push((await session.send({ nowMs })).expiresAtMs ?? 0);
    while (pauseSeconds === 0 && nowMs - startMs < hours * 3_600_000) {
      await provider.advance(5_400);
      nowMs += 5_400_000;
      await Promise.all(running.map((session) => session.send({ nowMs })));
      refreshes += processes;
    }
    const due = running.map(() => nowMs + pause());
    while (nowMs - startMs < hours * 3_600_000) {
      const index = due.indexOf(Math.min(...due));
      const atMs = due[index]!;
      due[index] = atMs + pause();
      // A call with a valid token changes nothing at the provider.
      if (atMs < expiries[index]! - 60_000) continue;
      await provider.advance(Math.max(0, atMs - nowMs) / 1000);
      nowMs = Math.max(nowMs, atMs);
      const { expiresAtMs = 0 } = await running[index]!.send({ nowMs });
      if (expiresAtMs !== expiries[index]) refreshes += 1;
      expiries[index] = expiresAtMs;
    }
    return `no sign-out in ${hours} h (${refreshes} times a process had a new token)`;
  } catch (error) {
    return `signed out after ${((nowMs - startMs) / 3_600_000).toFixed(2)} h, after ${refreshes} new tokens: ${(error as Error).message.slice(0, 120)}`;
  } finally {
    for (const session of running) await session.stop();
    server.kill();
    personServer.close();
    await provider.close();
  }
}

console.log(`grace: ${graceText} s, ${processes} processes, ${hours} hours`);
for (const kind of kinds.filter(({ name }) => name.includes(only))) {
  for (const [name, seconds] of pauses)
    console.log(`${kind.name}; a call every ${name} on average: ${await measure(kind, seconds)}`);
}
folder.remove();
process.exit(0);
