import { createServer } from "node:net";

/** Whether something can listen there now. */
export function isPortFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/** Below every system's ephemeral ports: one of those can be taken for an outgoing connection before it is listened on. */
const firstPort = 15_000;
const portCount = 15_000;
const mostTries = 100;

/** A port that nothing listens on, at random, so that those who look at the same time rarely find the same one. */
export async function findFreePort(host: string): Promise<number> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const port = firstPort + Math.floor(Math.random() * portCount);
    if (await isPortFree(host, port)) return port;
  }
  throw new Error(`no free port found on ${host} in ${mostTries} tries`);
}
