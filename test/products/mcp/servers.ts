import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import type { EmptyFolder } from "../../conformance/fixtures/packed-package.ts";
import { install } from "../install.ts";
import { pythonWith } from "./clients.ts";

const programs = join(import.meta.dirname, "programs");
const versions = { server: "2.4.0", deno: "2.9.6", bun: "1.4.5", fastmcp: "4.1.2", nodeServer: "2.0.12" };

export interface McpServer {
  readonly version: string;
  /** Whether a revoked token is refused before it expires. */
  readonly seesRevocation: boolean;
  /** It is an authorization server for its clients, and itself a client of the provider. */
  readonly issuesTokens: boolean;
  /** It has a tool that needs more scopes. */
  readonly hasStepUp: boolean;
  program(folder: EmptyFolder): Promise<{
    readonly command: string;
    readonly words: readonly string[];
    readonly cwd: string;
    readonly environment: Readonly<Record<string, string>>;
  }>;
}

/** The tarball of our library with the official SDK, on a JavaScript runtime. */
function javascript(version: string, runtime: string, words: (bin: string) => readonly string[]): McpServer {
  const started = (cwd: string) => {
    const [command = "", ...rest] = words(join(cwd, "node_modules/.bin"));
    return { command, words: rest, cwd, environment: {} };
  };
  return {
    version,
    seesRevocation: true,
    issuesTokens: false,
    hasStepUp: true,
    async program(folder) {
      const cwd = folder.file("server");
      if (existsSync(cwd)) return started(cwd);
      const tarball = await folder.pack("resource-server");
      await install(cwd, { npm: [tarball, `@modelcontextprotocol/server@${versions.server}`, runtime] });
      for (const name of ["notes.js", "serve.js"]) cpSync(join(programs, name), join(cwd, name));
      return started(cwd);
    },
  };
}

function fastmcp(auth: string, seesRevocation: boolean): McpServer {
  return {
    version: versions.fastmcp,
    seesRevocation,
    issuesTokens: auth === "proxy",
    hasStepUp: false,
    program: async (folder) => ({
      command: await pythonWith(`fastmcp==${versions.fastmcp}`),
      words: [join(programs, "fastmcp_server.py")],
      cwd: folder.path,
      environment: { AUTH: auth },
    }),
  };
}

/** **The MCP servers that the provider protects.** */
export const servers = {
  node: javascript(process.versions.node, `@hono/node-server@${versions.nodeServer}`, () => [
    process.execPath,
    "serve.js",
  ]),
  deno: javascript(versions.deno, `deno@${versions.deno}`, (bin) => [
    "sh",
    "-c",
    `${bin}/deno serve --allow-all --host 127.0.0.1 --port $PORT notes.js`,
  ]),
  bun: javascript(versions.bun, `bun@${versions.bun}`, (bin) => [join(bin, "bun"), "notes.js"]),
  "fastmcp-jwt": fastmcp("jwt", false),
  "fastmcp-introspection": fastmcp("introspection", true),
  "fastmcp-proxy": fastmcp("proxy", false),
} as const satisfies Record<string, McpServer>;
