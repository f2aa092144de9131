import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Methods of hooks (`@edge-op/hooks`), by name. */
const hookNames = ["claims", "beforeSignIn", "afterSignUp", "legacyPassword"] as const;

export interface ServedHooks {
  readonly origin: string;
  /** Settings that enable the hooks of the object; an operator's own settings override them. */
  readonly settings: Readonly<Record<string, string>>;
  close(): void;
}

type Method = (request: unknown) => unknown;

function methodOf(hooks: object, name: string): Method | undefined {
  const method: unknown = Reflect.get(hooks, name);
  return typeof method === "function" ? (request) => Reflect.apply(method, hooks, [request]) as unknown : undefined;
}

/** The settings by which a provider calls the hooks that an object has. */
export function settingsFor(hooks: object): Record<string, string> {
  const has = (name: string) => methodOf(hooks, name) !== undefined;
  const enabled = { ENABLED_HOOKS: hookNames.filter(has).join(" ") };
  return has("mail") ? { ...enabled, MAIL_PROVIDER: "hook" } : enabled;
}

/** **Serves hooks of a test process to its provider**, as JSON in place of an RPC. An error is only its message there. */
export async function serveHooks(hooks: object): Promise<ServedHooks> {
  const server = createServer((request, response) => {
    const answer = async () => {
      let text = "";
      for await (const part of request.setEncoding("utf8")) text += String(part);
      const method = methodOf(hooks, (request.url ?? "").slice(1));
      if (method === undefined) throw new Error(`no method ${request.url}`);
      return method(JSON.parse(text));
    };
    answer().then(
      (value) => response.end(JSON.stringify({ value })),
      (error: unknown) => response.writeHead(500).end(error instanceof Error ? error.message : String(error)),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    settings: settingsFor(hooks),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
