import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/**
 * **A TCP proxy that can be cut**, like a network that loses every packet: connections stay open, new ones are accepted, and no byte arrives in
 * either direction until it is rejoined. Bytes sent in between then arrive late, as if TCP had retransmitted them.
 */
export class CuttableProxy {
  readonly address: string;
  readonly #sockets = new Set<Socket>();
  /** The target of connections; a restarted provider has another port. */
  target: { readonly host: string; readonly port: number } | undefined;
  #isCut = false;

  private constructor(server: Server) {
    this.address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("connection", (inner) => this.#connect(inner));
  }

  static async listen(): Promise<CuttableProxy> {
    const server = createServer({ noDelay: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new CuttableProxy(server);
  }

  setCut(isCut: boolean): void {
    this.#isCut = isCut;
    for (const socket of this.#sockets) {
      if (isCut) socket.pause();
      else socket.resume();
    }
  }

  #connect(inner: Socket): void {
    if (this.target === undefined) {
      inner.destroy();
      return;
    }
    const outer = connect({ ...this.target, noDelay: true });
    this.#forward(inner, outer);
    this.#forward(outer, inner);
  }

  #forward(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.on("data", (bytes: Buffer) => {
      if (to.write(bytes)) return;
      from.pause();
      to.once("drain", () => {
        if (!this.#isCut) from.resume();
      });
    });
    if (this.#isCut) from.pause();
    from.on("end", () => to.end());
    // The other side receives the close that follows an error.
    from.on("error", () => to.destroy());
    from.on("close", () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
