import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { readRepositoryFile } from "../../../scripts/reference/repository-files.ts";

const guide = readRepositoryFile("docs/operating/protect-an-api.md");

/** How a server of the guide is set up and started. The packages of the first two are linked by the caller; the others come from their registries. */
interface Recipe {
  /** Files by path: a block of the guide by its name, or the text itself. */
  readonly files: Readonly<Record<string, { readonly block: string } | string>>;
  readonly prepare?: readonly string[];
  readonly start: readonly string[];
  /** The path of the resource. */
  readonly path?: string;
  /** The resource's record has RS256 and `JWT`. */
  readonly isPlain?: true;
}

const venv = (packages: string) => ["sh", "-c", `python3 -m venv .venv && .venv/bin/pip install --quiet ${packages}`];

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<parent><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-parent</artifactId><version>3.5.7</version></parent>
<groupId>example</groupId><artifactId>api</artifactId><version>1</version>
<dependencies>
<dependency><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-web</artifactId></dependency>
<dependency><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-oauth2-resource-server</artifactId></dependency>
</dependencies>
<build><plugins><plugin><groupId>org.springframework.boot</groupId><artifactId>spring-boot-maven-plugin</artifactId></plugin></plugins></build>
</project>`;

export const recipes: Readonly<Record<string, Recipe>> = {
  jose: { files: { "jose.js": { block: "jose" } }, start: ["node", "jose.js"] },
  express: { files: { "express.js": { block: "express" } }, start: ["node", "express.js"] },
  fastapi: {
    files: { "api.py": { block: "fastapi" } },
    prepare: venv("fastapi uvicorn 'pyjwt[crypto]'"),
    start: ["sh", "-c", "exec .venv/bin/uvicorn api:app --port $PORT"],
    isPlain: true,
  },
  fastmcp: {
    files: { "server.py": { block: "fastmcp" } },
    prepare: venv("fastmcp"),
    start: [".venv/bin/python", "server.py"],
    path: "mcp",
    isPlain: true,
  },
  go: {
    files: { "main.go": { block: "go" }, "go.mod": "module example.com/api\n\ngo 1.24\n" },
    prepare: ["sh", "-c", "go mod tidy && go build -o api ."],
    start: ["./api"],
    isPlain: true,
  },
  spring: {
    files: {
      "pom.xml": pom,
      "src/main/java/example/Api.java": { block: "spring" },
      "src/main/resources/application.properties": { block: "spring-settings" },
    },
    prepare: ["mvn", "-q", "-B", "package"],
    start: ["java", "-jar", "target/api-1.jar"],
    isPlain: true,
  },
};

function blockOf(name: string): string {
  const [, text] = new RegExp(`<!-- server: ${name} -->\n\`\`\`\\w+\n([\\s\\S]*?)\`\`\``).exec(guide) ?? [];
  if (text === undefined) throw new Error(`the guide has no server ${name}`);
  return text;
}

/** **A server of the guide, running**: its files are written to a folder, and its packages installed there. */
export class ApiServer {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#child = child;
  }

  static async start(
    name: string,
    { folder, issuer, port }: { readonly folder: string; readonly issuer: string; readonly port: number },
  ): Promise<ApiServer> {
    const { files, prepare, start, path = "" } = recipes[name]!;
    for (const [file, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), typeof content === "string" ? content : blockOf(content.block));
    }
    if (prepare !== undefined) await promisify(execFile)(prepare[0]!, prepare.slice(1), { cwd: folder });
    const url = `http://localhost:${port}/${path}`;
    const env = { ...process.env, ISSUER: issuer, RESOURCE: url, PORT: String(port) };
    const child = spawn(start[0]!, start.slice(1), { cwd: folder, env, stdio: ["ignore", "inherit", "inherit"] });
    const server = new ApiServer(url, child);
    await server.#untilReady();
    return server;
  }

  async #untilReady(): Promise<void> {
    while (this.#child.exitCode === null) {
      const isReady = await fetch(this.url).then(
        () => true,
        () => false,
      );
      if (isReady) return;
      await sleep(100);
    }
    throw new Error(`the server ended with ${this.#child.exitCode}`);
  }

  /** The status of a request with a token: of a call of the tool for MCP. */
  async statusWith(token: string | undefined): Promise<number> {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const isMcp = this.url.endsWith("/mcp");
    const call = { jsonrpc: "2.0", id: 1, method: "initialize" };
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const accept = "application/json, text/event-stream";
    const response = await fetch(this.url, {
      headers: { ...headers, ...(isMcp && { accept, "content-type": "application/json" }) },
      ...(isMcp && { method: "POST", body: JSON.stringify({ ...call, params }) }),
    });
    await response.body?.cancel();
    return response.status;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await ended;
  }
}
