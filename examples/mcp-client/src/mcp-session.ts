import {
  auth,
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import type { ClientAuthorization } from "./client-authorization.ts";

/** Sends the user to the URL, and returns the parameters that the redirect URI receives. */
export type SignIn = (authorizationUrl: URL) => Promise<URLSearchParams>;

export interface McpSessionOptions {
  readonly server: string;
  readonly authorization: ClientAuthorization;
  readonly signIn: SignIn;
  readonly fetch?: typeof fetch;
}

/** A first sign-in, and one for more scopes. */
const mostSignIns = 2;

/**
 * **Uses an MCP server on the official SDK**, which finds the authorization server, refreshes tokens and requests more scopes when the server
 * challenges for them. Whenever that needs the user, they sign in and the operation is repeated.
 */
export class McpSession {
  readonly #options: McpSessionOptions;
  /** How often the user was sent to the authorization server. */
  signIns = 0;

  constructor(options: McpSessionOptions) {
    this.#options = options;
  }

  async listTools(): Promise<string[]> {
    return this.#run(async (client) => (await client.listTools()).tools.map(({ name }) => name));
  }

  /** The text of the tool's result. */
  async callTool(name: string, given: Readonly<Record<string, unknown>> = {}): Promise<string> {
    return this.#run(async (client) => textOf(await client.callTool({ name, arguments: given })));
  }

  /** Uses the refresh token now, although the access token has not expired. */
  async refresh(): Promise<void> {
    const { server, authorization, fetch: fetchFn } = this.#options;
    const result = await auth(authorization, { serverUrl: server, ...(fetchFn === undefined ? {} : { fetchFn }) });
    if (result !== "AUTHORIZED") throw new UnauthorizedError("the refresh token is not accepted");
  }

  async #run<T>(work: (client: Client) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      const { server, authorization, signIn, fetch: fetchFrom } = this.#options;
      const transport = new StreamableHTTPClientTransport(new URL(server), {
        authProvider: authorization,
        ...(fetchFrom === undefined ? {} : { fetch: fetchFrom }),
      });
      const client = new Client({ name: "notes-cli", version: "1.0.0" });
      try {
        await client.connect(transport);
        return await work(client);
      } catch (error) {
        if (!UnauthorizedError.isInstance(error) || attempt >= mostSignIns) throw error;
        this.signIns += 1;
        const callback = await signIn(authorization.authorizationUrl);
        authorization.checkState(callback);
        await transport.finishAuth(callback);
      } finally {
        await client.close();
      }
    }
  }
}

function textOf(result: CallToolResult): string {
  const texts = result.content.flatMap((item) => (item.type === "text" ? [item.text] : []));
  if (result.isError === true) throw new Error(texts.join("\n"));
  return texts.join("\n");
}
