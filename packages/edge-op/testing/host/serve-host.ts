import { rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Builds } from "../../src/builds.ts";
import { checkSeed } from "../../src/demo/read-seed-file.ts";
import type { Seed } from "../../src/demo/seed.ts";
import { InstanceHost, type InstanceOptions, type WantedMail } from "./instance-host.ts";

const idleMs = 5_000;

/**
 * **The process of the host**: serves `testing/host-connection.ts` on a socket, and ends when no process has been connected for some seconds. An
 * instance ends with the connection of the process that created it; killing the process closes the connection too.
 */
export async function serveHost(builds: Builds, path: string, demo: () => Seed): Promise<void> {
  const host = await InstanceHost.start(builds, ({ level, message }) => {
    if (level === "error") console.error(message);
  });
  /** The instances of each connected process. */
  const holders = new Map<string, Set<string>>();
  let idle: NodeJS.Timeout | undefined;
  const stop = async (): Promise<void> => {
    server.close();
    if (process.platform !== "win32") rmSync(path, { force: true });
    await host.stop();
    process.exit(0);
  };
  const release = (holder: string): void => {
    const names = holders.get(holder) ?? [];
    holders.delete(holder);
    for (const name of names) void host.end(name).catch(console.error);
    if (holders.size === 0) idle = setTimeout(() => void stop(), idleMs);
  };
  const hold = (holder: string, response: ServerResponse): void => {
    clearTimeout(idle);
    holders.set(holder, new Set());
    response.writeHead(200).flushHeaders();
    response.on("close", () => release(holder));
  };
  const follow = async (holder: string, method: string, url: string, body: unknown): Promise<unknown> => {
    const [, , name = "", what] = url.split("/");
    if (method === "POST" && url === "/instances") {
      const { seed, ...options } = body as Omit<InstanceOptions, "seed"> & { readonly seed?: unknown };
      const created = await host.create({ seed: seed === undefined ? demo() : checkSeed(seed), ...options });
      holders.get(holder)?.add(created.name);
      return created;
    }
    if (method === "DELETE") return host.end(name);
    if (what === "failing") return host.fail(name, body as readonly string[]);
    if (what === "clock") return host.advance(name, body as number);
    if (what === "mailbox") return method === "GET" ? host.mails(name) : host.waitForMail(name, body as WantedMail);
    throw new Error(`no such request: ${method} ${url}`);
  };
  const server = createServer((request, response) => {
    const holder = String(request.headers["holder"]);
    if (request.url === "/hold") return hold(holder, response);
    readBody(request)
      .then((body) => follow(holder, request.method ?? "", request.url ?? "", body))
      .then(
        (value) => respond(response, 200, value ?? null),
        (error: unknown) => respond(response, 400, { error: error instanceof Error ? error.message : String(error) }),
      );
    return undefined;
  });
  if (process.platform !== "win32") rmSync(path, { force: true });
  server.listen(path);
  idle = setTimeout(() => void stop(), idleMs);
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const part of request.setEncoding("utf8")) text += String(part);
  return text === "" ? undefined : JSON.parse(text);
}

function respond(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}
