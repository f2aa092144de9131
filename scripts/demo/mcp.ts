/** **`npm run mcp`**: an MCP client on the command line, on the official SDK, for the demo's MCP server. */

import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { UnauthorizedError } from "@modelcontextprotocol/client";
import { browserSignIn } from "../../examples/mcp-client/src/browser-sign-in.ts";
import {
  type AuthorizationStore,
  ClientAuthorization,
  type SavedAuthorization,
} from "../../examples/mcp-client/src/client-authorization.ts";
import { McpSession, type SignIn } from "../../examples/mcp-client/src/mcp-session.ts";
import { escapeStreams } from "../../packages/edge-op/src/console/escape-output.ts";
import type { DevFile } from "../../packages/edge-op/src/demo/seed-demo.ts";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { Person } from "../../packages/edge-op/testing/person.ts";

escapeStreams();

const usage = `npm run mcp -- <command> [options]

  tools                          list the tools
  call <tool> [name=value …]     call a tool
  refresh                        use the refresh token
  forget                         delete what earlier runs have saved

  --as <user>       sign in as a user of the demo, without a browser
  --no-sign-in      fail if the user would have to sign in
  --client <id>     the client_id: of a registered client (at first demo-mcp-client), or the URL of a metadata document
  --register        register a client (RFC 7591)

  The client is remembered: later commands use the same one.`;

function readCommand() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      allowNegative: true,
      options: {
        as: { type: "string" },
        "sign-in": { type: "boolean", default: true },
        client: { type: "string" },
        register: { type: "boolean", default: false },
      },
    });
    const [command = "", ...words] = positionals;
    return { ...values, command, words };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

class UsageError extends Error {
  override readonly name = "UsageError";
}

/** npm runs this in the root of the repository, wherever it was started. */
const directory = [process.env["INIT_CWD"] ?? "", repositoryRoot]
  .map((folder) => join(folder, ".op"))
  .find((folder) => existsSync(join(folder, "dev.json")));

function readDevFile(): DevFile & { readonly directory: string } {
  if (directory === undefined) throw new UsageError("There is no .op/dev.json. Run npm start first.");
  return { ...(JSON.parse(readFileSync(join(directory, "dev.json"), "utf8")) as DevFile), directory };
}

/** Readable only by the owner, because it contains tokens. */
function fileStore(path: string): AuthorizationStore {
  return {
    load: () => (existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as SavedAuthorization) : {}),
    save: (saved) => writeFileSync(path, `${JSON.stringify(saved, null, 2)}\n`, { mode: 0o600 }),
  };
}

/** Fills in the provider's forms like the user, so that the walk needs no browser. */
function signInAs({ issuer, users }: DevFile, name: string): SignIn {
  const user = Object.values(users).find(({ username }) => username === name);
  if (user === undefined) throw new UsageError(`The demo has no user ${name}.`);
  const person = new Person(issuer, user);
  return async (url) => {
    console.error(`Signing in as ${name} for ${url.searchParams.get("scope")}`);
    return (await person.visit(url)).url.searchParams;
  };
}

function chooseSignIn(
  dev: DevFile,
  { as: user, "sign-in": mayAsk }: ReturnType<typeof readCommand>,
  port: number,
): SignIn {
  if (!mayAsk) return () => Promise.reject(new UnauthorizedError("the user must sign in again"));
  const announce = (url: URL) => console.error(`Open this URL in a browser:\n${url.href}`);
  return user === undefined ? browserSignIn(port, announce) : signInAs(dev, user);
}

/** The client of an option, else the previous one. */
function chooseClient(store: AuthorizationStore, dev: DevFile, { client, register }: ReturnType<typeof readCommand>) {
  if (register) return undefined;
  const saved = store.load();
  return client ?? (Object.hasOwn(saved, "client") ? saved.clientId : dev.clients.mcp_client.client_id);
}

async function main(): Promise<void> {
  const options = readCommand();
  const { command, words } = options;
  const dev = readDevFile();
  const path = join(dev.directory, "mcp-client.json");
  const store = fileStore(path);
  const port = await findFreePort("127.0.0.1");
  const redirectUrl = `http://127.0.0.1:${port}/callback`;
  const clientId = chooseClient(store, dev, options);
  const authorization = new ClientAuthorization(store, { redirectUrl, clientId, issuer: dev.issuer });
  const signIn = chooseSignIn(dev, options, port);
  const session = new McpSession({ server: dev.resources.mcp, authorization, signIn });
  switch (command) {
    case "tools":
      return console.log((await session.listTools()).join("\n"));
    case "call": {
      const [tool = "", ...given] = words;
      const pairs = given.map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)] as const);
      return console.log(await session.callTool(tool, Object.fromEntries(pairs)));
    }
    case "refresh":
      await session.refresh();
      return console.log(`refreshed; scope: ${authorization.tokens()?.scope}`);
    case "forget":
      return rmSync(path, { force: true });
    default:
      throw new UsageError(command === "" ? "A command is missing." : `Unknown command: ${command}`);
  }
}

try {
  await main();
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  console.error(error instanceof UsageError ? `${message}\n\n${usage}` : `refused: ${message}`);
  process.exitCode = error instanceof UsageError ? 2 : UnauthorizedError.isInstance(error) ? 3 : 1;
}
