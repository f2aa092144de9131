import { decodeJwt } from "jose";
import { revokeSignIn } from "../connection/authorize.ts";
import { type Context, ContextStore } from "../connection/contexts.ts";
import { type Call, type Command, textOption } from "../console/command.ts";
import { Failure } from "../console/failure.ts";
import { showMembers, Table } from "../console/show.ts";

/** A context without its secrets. */
function describe(name: string | undefined, { issuer, client_id, client_secret, private_jwk, tokens }: Context) {
  const method =
    client_secret === undefined ? (private_jwk === undefined ? "none" : "private_key_jwt") : "client_secret";
  const { sub, scope } = tokens === undefined ? {} : decodeJwt<{ scope?: string }>(tokens.access_token);
  const token = tokens === undefined ? {} : { scope, sub, expires_at: tokens.expires_at };
  return { ...(name === undefined ? {} : { context: name }), issuer, client_id, method, ...token };
}

function storeOf({ terminal }: Call): ContextStore {
  return new ContextStore(terminal.environment);
}

/** **`edge-op context`** and **`edge-op logout`**: several deployments, one of which is the current one. */
export const contextCommands: readonly Command[] = [
  {
    words: ["context", "list"],
    summary: "Lists the deployments at which you have signed in.",
    examples: ["edge-op context list"],
    async run(call) {
      const { current, contexts } = storeOf(call).read();
      const rows = Object.entries(contexts).map(([name, context]) => ({
        ...describe(name, context),
        current: name === current,
      }));
      if (call.json) return call.terminal.write(`${JSON.stringify({ contexts: rows }, null, 2)}\n`);
      if (rows.length === 0) return call.terminal.note("There are none. Sign in with: edge-op login <issuer>\n");
      const shown = rows.map((row) => ({ ...row, current: row.current ? "*" : " " }));
      const columns = ["current", "context", "issuer", "client_id", "method"];
      await call.terminal.write(new Table(columns, call.terminal.columns).add(shown));
    },
  },
  {
    words: ["context", "use"],
    summary: "Makes a context the current one.",
    arguments: [{ name: "name", description: "The name of the context." }],
    examples: ["edge-op context use production"],
    async run(call) {
      storeOf(call).use(call.arguments["name"]!);
      if (!call.json) call.terminal.note(`The current context is ${call.arguments["name"]}.\n`);
    },
  },
  {
    words: ["context", "show"],
    summary: "Shows the context that commands use: its issuer, client, and the rights of its token.",
    examples: ["edge-op context show", "edge-op context show --context staging --json"],
    async run(call) {
      const { name, context } = storeOf(call).find(textOption(call, "context"));
      const shown = describe(name, context);
      await call.terminal.write(call.json ? `${JSON.stringify(shown, null, 2)}\n` : showMembers(shown));
    },
  },
  {
    words: ["context", "delete"],
    summary: "Deletes a context without a request: its tokens stay valid until they expire.",
    arguments: [{ name: "name", description: "The name of the context." }],
    examples: ["edge-op context delete staging"],
    async run(call) {
      storeOf(call).remove(call.arguments["name"]!);
      if (!call.json) call.terminal.note(`${call.arguments["name"]} is deleted.\n`);
    },
  },
  {
    words: ["logout"],
    summary: "Ends the sign-in of a context and deletes the context, with its secrets.",
    examples: ["edge-op logout", "edge-op logout --context staging"],
    async run(call) {
      const store = storeOf(call);
      const { name, context } = store.find(textOption(call, "context"));
      if (name === undefined)
        throw new Failure("usage", "The context is that of the environment: unset EDGE_OP_ISSUER.");
      await revokeSignIn(context);
      store.remove(name);
      if (!call.json) call.terminal.note(`${name} is deleted.\n`);
    },
  },
];
