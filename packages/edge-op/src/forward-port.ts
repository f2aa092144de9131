import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Forwarder {
  readonly port: number;
  /** Ends every connection. */
  close(): void;
}

/**
 * **Forwards the connections of a port to another port of this machine**, unchanged: a Worker sees the `Host` that the client sent. Both ports are on
 * `host`; `port`: 0 for a free one.
 */
export async function forwardPort(host: string, port: number, target: number): Promise<Forwarder> {
  const open = new Set<Socket>();
  const server = createServer({ noDelay: true }, (inner) => {
    const outer = connect({ host, port: target, noDelay: true });
    inner.pipe(outer).pipe(inner);
    open.add(inner);
    inner.on("error", () => outer.destroy());
    outer.on("error", () => inner.destroy());
    inner.on("close", () => {
      open.delete(inner);
      outer.destroy();
    });
  });
  server.listen(port, host);
  await once(server, "listening");
  const close = (): void => {
    server.close();
    for (const socket of open) socket.destroy();
  };
  return { port: (server.address() as AddressInfo).port, close };
}
