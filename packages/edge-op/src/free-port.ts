import { createServer } from "node:net";

/** Whether the port is free now. */
export function isPortFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/** Below the ephemeral ports of every system, because an outgoing connection could take one of those before the port is used. */
const firstPort = 15_000;
const portCount = 15_000;
const mostTries = 100;

/** A random free port, so that concurrent searches rarely find the same one. `taken` contains ports that were chosen but are not in use yet. */
export async function findFreePort(host: string, taken: ReadonlySet<number> = new Set()): Promise<number> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const port = firstPort + Math.floor(Math.random() * portCount);
    if (!taken.has(port) && (await isPortFree(host, port))) return port;
  }
  throw new Error(`no free port found on ${host} in ${mostTries} tries`);
}
