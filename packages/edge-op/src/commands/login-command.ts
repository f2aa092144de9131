import { type Authorized, authorizeAgain } from "../connection/authorize.ts";
import { type Context, ContextStore, readPrivateKey } from "../connection/contexts.ts";
import { signInByBrowser, signInByDevice } from "../connection/person-sign-in.ts";
import { type Call, type Command, textOption } from "../console/command.ts";
import { usageFailure } from "../console/failure.ts";
import { readText } from "../console/read-document.ts";
import { printable } from "../console/show.ts";

const flows = ["client", "browser", "device"];

/** The client by which people sign in, registered as `docs/operating/command-line.md` shows. */
const clientOfPeople = "edge-op";
const clientOfPrograms = "admin";

/** **`edge-op login`**: gets a first token, and stores how to get the next ones as a context. `scopes`: those of the admin API. */
export function loginCommand(scopes: readonly string[]): Command {
  return {
    words: ["login"],
    summary: "Signs in at a deployment, and makes it the current context.",
    arguments: [{ name: "issuer", description: "The issuer, as in its discovery document: https://op.example.com." }],
    options: [
      {
        name: "with",
        kind: "text",
        choices: flows,
        description:
          "A client's own credential, or a person's sign-in. By default client if there is a credential, else browser.",
      },
      {
        name: "client-id",
        kind: "text",
        description: `The client: by default ${clientOfPrograms}, for a person ${clientOfPeople}.`,
      },
      {
        name: "client-secret",
        kind: "secret",
        description: "The client's secret; by default EDGE_OP_CLIENT_SECRET, or a question.",
      },
      { name: "key", kind: "text", description: "A file with the client's private JWK, for private_key_jwt." },
      {
        name: "scope",
        kind: "text",
        description: "A person's sign-in: the scopes to request, by default all of the admin API.",
      },
      { name: "name", kind: "text", description: "The name of the context; by default the host of the issuer." },
    ],
    examples: [
      "edge-op login https://op.example.com --client-secret @secret.txt",
      "edge-op login https://op.example.com --client-id ci --key ci.jwk",
      "edge-op login https://op.example.com --with browser",
      "edge-op login https://op.example.com --with device --name production",
    ],
    notes: ["Secrets and tokens are stored in a file that only you can read (mode 600)."],
    async run(call) {
      const issuer = readIssuer(call.arguments["issuer"] ?? "");
      const { context, authorized } = await signIn(call, issuer, scopes);
      const name = textOption(call, "name") ?? new URL(issuer).host;
      const { tokens, scope } = authorized;
      new ContextStore(call.terminal.environment).save(name, { ...context, tokens }, true);
      if (call.json)
        return call.terminal.write(
          `${JSON.stringify({ context: name, issuer, client_id: context.client_id, scope })}\n`,
        );
      await call.terminal.write(
        `Signed in at ${issuer} as ${printable(context.client_id)}. Context: ${printable(name)}. Scope: ${printable(scope) || "(none)"}\n`,
      );
    },
  };
}

function readIssuer(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw usageFailure(`The issuer must be a URL, not "${text}".`);
  }
  const { protocol, hostname } = new URL(text);
  const isLocal = hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);
  if (protocol === "http:" && !isLocal) throw usageFailure("A secret is sent by https only; http is for this machine.");
  return text.replace(/\/+$/, "");
}

async function signIn(
  call: Call,
  issuer: string,
  scopes: readonly string[],
): Promise<{ readonly context: Context; readonly authorized: Authorized }> {
  const flow = textOption(call, "with");
  const key = textOption(call, "key");
  const secret = textOption(call, "client-secret") ?? call.terminal.environment["EDGE_OP_CLIENT_SECRET"];
  const chosen = flow ?? (key !== undefined || secret ? "client" : "browser");
  const named = textOption(call, "client-id");
  if (chosen === "client") {
    const credential =
      key === undefined
        ? { client_secret: secret || (await call.terminal.askSecret("Client secret: ")) }
        : { private_jwk: readPrivateKey(readText(key)) };
    const context = { issuer, client_id: named ?? clientOfPrograms, ...credential };
    return { context, authorized: await authorizeAgain(context) };
  }
  const context = { issuer, client_id: named ?? clientOfPeople, person: true } as const;
  const scope = textOption(call, "scope") ?? scopes.join(" ");
  const signInByFlow = chosen === "device" ? signInByDevice : signInByBrowser;
  return { context, authorized: await signInByFlow(call.terminal, context, scope) };
}
