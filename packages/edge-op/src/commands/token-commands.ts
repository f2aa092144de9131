import { connect } from "../connection/connection.ts";
import { type Context, readPrivateKey } from "../connection/contexts.ts";
import { type Call, type Command, type Option, textOption } from "../console/command.ts";
import { usageFailure } from "../console/failure.ts";
import { printFindings } from "../console/findings.ts";
import { readSecret, readText } from "../console/read-document.ts";
import { showMembers } from "../console/show.ts";
import { explainToken, introspect } from "../tokens/explain-token.ts";

const tokenArgument = {
  name: "token",
  description:
    "The token; @file reads it from a file, - from the standard input, so that no list of processes shows it.",
};

const asClient: readonly Option[] = [
  {
    name: "client-id",
    kind: "text",
    description: "Ask as this client, for example the resource server, in place of the context's.",
  },
  { name: "client-secret", kind: "secret", description: "Its secret." },
  { name: "key", kind: "text", description: "A file with its private JWK." },
];

async function readToken({ terminal, arguments: { token = "" } }: Call): Promise<string> {
  const text = token === "-" ? await terminal.readInput() : token.startsWith("@") ? readSecret(token.slice(1)) : token;
  if (text.trim() === "") throw usageFailure("The token is empty.");
  return text.trim();
}

function callerOf(
  call: Call,
  context: Context,
): Pick<Context, "issuer" | "client_id" | "client_secret" | "private_jwk"> {
  const id = textOption(call, "client-id");
  if (id === undefined) return context;
  const secret = textOption(call, "client-secret");
  const key = textOption(call, "key");
  if (secret === undefined && key === undefined) throw usageFailure("--client-id needs --client-secret or --key.");
  const credential = secret === undefined ? { private_jwk: readPrivateKey(readText(key!)) } : { client_secret: secret };
  return { issuer: context.issuer, client_id: id, ...credential };
}

/** **`edge-op tokens`**, beside `tokens revoke`, which is an operation of the admin API. */
export const tokenCommands: readonly Command[] = [
  {
    words: ["tokens", "introspect"],
    summary: "Shows what the provider says about a token. The exit code is 1 if it is inactive.",
    arguments: [tokenArgument],
    options: asClient,
    examples: [
      "edge-op tokens introspect @token.txt",
      "edge-op tokens introspect - --client-id api --client-secret @secret.txt < token.txt",
    ],
    async run(call) {
      const token = await readToken(call);
      const { context } = connect(call);
      const result = await introspect(callerOf(call, context), token);
      await call.terminal.write(call.json ? `${JSON.stringify(result, null, 2)}\n` : showMembers(result));
      return result["active"] === true ? "done" : "refused";
    },
  },
  {
    words: ["tokens", "explain"],
    summary:
      "Says why a token is not accepted: its form, issuer, signature and time, its client and user, and what revoked it.",
    arguments: [tokenArgument],
    examples: ["edge-op tokens explain @token.txt", "pbpaste | edge-op tokens explain - --json"],
    notes: ["Scopes: admin:clients, admin:users and admin:audit. What the context may not read is shown as unknown."],
    async run(call) {
      const token = await readToken(call);
      return printFindings(call, await explainToken(connect(call), token));
    },
  },
];
