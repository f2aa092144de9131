import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "../../../packages/edge-op/src/free-port.ts";
import { AdminApi, type Credentials } from "../../../packages/edge-op/src/provider-api.ts";
import { EmptyFolder } from "../../conformance/fixtures/packed-package.ts";
import { selfSigned } from "../../fixtures/client-certificates.ts";
import { OpenedBrowser } from "./browser.ts";
import { Recorder } from "./recorder.ts";
import type { McpServer } from "./servers.ts";

const secret = "a secret of the notes server";
/** Short, so that products refresh their tokens within a script. */
const accessTokenSeconds = 5;
const patienceMs = 60_000;
const output =
  process.env["VERBOSE"] === undefined ? (["ignore", "ignore"] as const) : (["inherit", "inherit"] as const);

/** **The provider as `npx edge-op dev` runs it, an MCP server that it protects, and a user's browser.** */
export class Stage {
  readonly folder: EmptyFolder;
  readonly issuer: string;
  readonly provider: Recorder;
  readonly server: Recorder;
  readonly browser: OpenedBrowser;
  /** The URL of a client's metadata document. */
  readonly document: string;
  readonly #processes: ChildProcess[];
  readonly #documents: Server;
  readonly #data: string;

  private constructor(
    parts: Pick<Stage, "folder" | "provider" | "server" | "browser" | "document">,
    processes: ChildProcess[],
    documents: Server,
  ) {
    this.#documents = documents;
    this.document = parts.document;
    this.folder = parts.folder;
    this.provider = parts.provider;
    this.server = parts.server;
    this.browser = parts.browser;
    this.issuer = parts.provider.origin;
    this.#processes = processes;
    this.#data = parts.folder.file("data");
  }

  /** The URL with which clients are configured: the audience of their tokens. */
  get resource(): string {
    return `${this.server.origin}/mcp`;
  }

  /** The variables that programs of products read. */
  get environment(): Record<string, string> {
    return { ...(process.env as Record<string, string>), ...this.browser.environment, MCP_SERVER: this.resource };
  }

  static async start(server: McpServer): Promise<Stage> {
    const folder = new EmptyFolder();
    await folder.install("edge-op", ["miniflare"]);
    const ports = { provider: await findFreePort("127.0.0.1"), server: await findFreePort("127.0.0.1") };
    const provider = await Recorder.start(0, () => ports.provider);
    const recorded = await Recorder.start(0, () => ports.server);
    const resource = `${recorded.origin}/mcp`;
    writeFileSync(folder.file("seed.json"), JSON.stringify(seedOf(resource, recorded.origin)));
    const { documents, document } = await startDocument(folder);
    const running: ChildProcess[] = [];
    const words = ["dev", "--port", String(ports.provider), "--seed", "seed.json", "--data", "data", "--verbose"];
    running.push(
      await startProgram(folder.file("node_modules/.bin/edge-op"), words, {
        cwd: folder.path,
        env: {
          ...process.env,
          ISSUER: provider.origin,
          ACCESS_TOKEN_LIFETIME: String(accessTokenSeconds),
          NODE_EXTRA_CA_CERTS: folder.file("documents.pem"),
        },
        ready: "Ready in",
      }),
    );
    const { command, words: serverWords, cwd, environment } = await server.program(folder);
    const child = spawn(command, serverWords, {
      cwd,
      env: {
        ...process.env,
        ...environment,
        ISSUER: provider.origin,
        RESOURCE: resource,
        CLIENT_SECRET: secret,
        PORT: String(ports.server),
      },
      stdio: ["ignore", ...output],
    });
    running.push(child);
    await reachable(`${recorded.origin}/mcp`, child);
    recorded.exchanges.length = 0;
    mkdirSync(folder.file("browser"));
    const user = { username: "alice", password: "correct horse battery staple" };
    const browser = await OpenedBrowser.start(folder.file("browser"), provider.origin, user);
    return new Stage({ folder, provider, server: recorded, browser, document }, running, documents);
  }

  get admin(): AdminApi {
    const { admin } = JSON.parse(readFileSync(join(this.#data, "dev.json"), "utf8")) as { readonly admin: Credentials };
    return new AdminApi(this.issuer, admin);
  }

  /** Forgets what was recorded. */
  clear(): void {
    for (const list of [this.provider.exchanges, this.server.exchanges, this.browser.opened]) list.length = 0;
  }

  /** Waits until every access token that was issued so far has expired. */
  async expire(): Promise<void> {
    await sleep((accessTokenSeconds + 1) * 1000);
  }

  async stop(): Promise<void> {
    for (const child of this.#processes) {
      const ended = child.exitCode === null ? once(child, "exit") : undefined;
      child.kill("SIGTERM");
      await ended;
    }
    this.#documents.closeAllConnections();
    this.#documents.close();
    this.browser.stop();
    this.provider.stop();
    this.server.stop();
    this.folder.remove();
  }
}

/** Its certificate is trusted by the provider alone, which fetches the document. */
async function startDocument(folder: EmptyFolder): Promise<{ readonly documents: Server; readonly document: string }> {
  const { cert, key } = await selfSigned({ subject: "CN=localhost", names: [{ type: "dns", value: "localhost" }] });
  writeFileSync(folder.file("documents.pem"), cert);
  const documents = createServer({ cert, key }, (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const paths = ["callback", "oauth/callback"].flatMap((path) => [
      `http://127.0.0.1/${path}`,
      `http://localhost/${path}`,
    ]);
    const metadata = { client_name: "An agent", application_type: "native", token_endpoint_auth_method: "none" };
    response.end(JSON.stringify({ client_id: document, redirect_uris: paths, ...metadata }));
  });
  await new Promise<void>((resolve) => documents.listen(0, "localhost", resolve));
  const document = `https://localhost:${(documents.address() as AddressInfo).port}/client.json`;
  return { documents, document };
}

function seedOf(identifier: string, origin: string) {
  return {
    users: { alice: { password: "correct horse battery staple", claims: { name: "Alice Adams" } } },
    clients: {
      "notes-server": {
        client_secret: secret,
        grant_types: ["client_credentials"],
        introspection: { audiences: [identifier] },
      },
      "notes-proxy": {
        client_name: "Notes",
        client_secret: secret,
        redirect_uris: [`${origin}/auth/callback`],
        grant_types: ["authorization_code", "refresh_token"],
        scope: "openid offline_access",
      },
    },
    resources: {
      notes: {
        identifier,
        name: "Notes",
        clients: "any",
        scopes: [
          { value: "notes:read", description: "Read your notes", default: true },
          { value: "notes:write", description: "Write notes for you" },
        ],
      },
    },
  };
}

interface ProgramOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** The output by which it is ready. */
  readonly ready: string;
}

/** Its output is printed if it ends too early. */
async function startProgram(
  command: string,
  words: readonly string[],
  { cwd, env, ready }: ProgramOptions,
): Promise<ChildProcess> {
  const child = spawn(command, words, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (process.env["VERBOSE"] !== undefined) process.stderr.write(text);
    });
  }
  const exited = once(child, "exit");
  while (!output.includes(ready)) {
    if (child.exitCode !== null) throw new Error(output);
    await Promise.race([once(child.stdout, "data"), exited]);
  }
  return child;
}

async function reachable(url: string, child: ChildProcess): Promise<void> {
  for (const giveUpAtMs = Date.now() + patienceMs; Date.now() < giveUpAtMs && child.exitCode === null; ) {
    try {
      if ((await fetch(url, { method: "POST" })).status === 401) return;
    } catch {}
    await sleep(200);
  }
  throw new Error(`${url} was not protected in time`);
}
