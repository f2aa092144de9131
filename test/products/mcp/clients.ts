import { tmpdir } from "node:os";
import { join } from "node:path";
import { install } from "../install.ts";
import { BridgeSession, CommandSession, ownHome, ProgramSession, type Session } from "./sessions.ts";
import type { Stage } from "./stage.ts";

const programs = join(import.meta.dirname, "programs");
/** It opens the browser without a terminal, and keeps tokens in a file where there is no key chain. */
const quiet = { MCP_AUTO_OPEN_ENABLED: "true", MCP_INSPECTOR_SECRET_STORE: "file" };
const versions = { python: "2.3.0", python1: "1.30.0", fastmcp: "4.1.2", mcpRemote: "0.15.1", inspector: "2.12.0" };

export interface McpClient {
  readonly version: string;
  /** `document`: the URL of its metadata document, in place of a registration. */
  start(stage: Stage, document?: string): Promise<Session>;
}

/** A folder with this package, which later runs use again. */
async function npmFolder(pin: string): Promise<string> {
  const folder = join(tmpdir(), "edge-op-products", pin.replaceAll(/[^\w.]+/g, "-"));
  await install(folder, { npm: [pin] });
  return folder;
}

/** The Python that has this package. */
export async function pythonWith(pin: string): Promise<string> {
  const folder = join(tmpdir(), "edge-op-products", pin);
  await install(folder, { pip: [pin] });
  return join(folder, ".venv/bin/python3");
}

function python(version: string, ...words: readonly [program: string, pin: string]): McpClient {
  const [program, pin] = words;
  return {
    version,
    async start(stage, document) {
      const known = document === undefined ? {} : { CLIENT_DOCUMENT: document };
      return new ProgramSession(await pythonWith(pin), [join(programs, program)], { ...stage.environment, ...known });
    },
  };
}

/** **The MCP clients that sign a user in.** */
export const clients = {
  python: python(versions.python, "client.py", `mcp==${versions.python}`),
  "python-1": python(versions.python1, "client.py", `mcp==${versions.python1}`),
  fastmcp: python(versions.fastmcp, "fastmcp_client.py", `fastmcp==${versions.fastmcp}`),
  "mcp-remote": {
    version: versions.mcpRemote,
    async start(stage, document) {
      const folder = await npmFolder(`mcp-remote@${versions.mcpRemote}`);
      const known = document === undefined ? [] : ["--client-metadata-url", document];
      const words = [join(folder, "node_modules/mcp-remote/dist/proxy.js"), stage.resource, "--allow-http", ...known];
      return BridgeSession.start(process.execPath, words, ownHome(stage));
    },
  },
  inspector: {
    version: versions.inspector,
    async start(stage, document) {
      const folder = await npmFolder(`@modelcontextprotocol/inspector@${versions.inspector}`);
      const command = join(folder, "node_modules/.bin/mcp-inspector");
      const known = document === undefined ? [] : ["--client-metadata-url", document];
      const words = (tool: string) => [
        ...["--cli", "--server-url", stage.resource, "--transport", "http", "--format", "json", "--quiet"],
        ...["--method", "tools/call", "--tool-name", tool, ...known],
      ];
      return new CommandSession(command, words, { ...ownHome(stage), ...quiet });
    },
  },
} as const satisfies Record<string, McpClient>;
