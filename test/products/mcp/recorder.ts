import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";

/** A request of the product and its response. */
export interface Exchange {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly form: string;
  readonly status: number;
  readonly challenge: string | undefined;
  readonly body: string;
}

/** **A proxy in front of a local server that records each exchange**, so that a failure shows what the product sent and received. */
export class Recorder {
  readonly origin: string;
  readonly exchanges: Exchange[] = [];
  readonly #close: () => void;

  private constructor(origin: string, close: () => void) {
    this.origin = origin;
    this.#close = close;
  }

  /** `port`: 0 for a free one. */
  static async start(port: number, target: () => number): Promise<Recorder> {
    const server = createServer((incoming, outgoing) => {
      void forward(incoming, outgoing, target()).then(
        (exchange) => recorder.exchanges.push(exchange),
        () => outgoing.destroy(),
      );
    });
    await new Promise<void>((resolve) => server.listen(port, "localhost", resolve));
    const close = () => {
      server.closeAllConnections();
      server.close();
    };
    const recorder = new Recorder(`http://localhost:${(server.address() as AddressInfo).port}`, close);
    return recorder;
  }

  stop(): void {
    this.#close();
  }
}

async function forward(incoming: IncomingMessage, outgoing: ServerResponse, port: number): Promise<Exchange> {
  const { method = "GET", url: path = "/", headers } = incoming;
  const form = await readText(incoming);
  const received = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = sendRequest({ host: "127.0.0.1", port, method, path, headers, agent: false });
    sent.on("response", resolve).on("error", reject).end(form);
  });
  outgoing.writeHead(received.statusCode ?? 502, received.headers);
  let body = "";
  received.on("data", (part: Buffer) => {
    body += part.toString();
    outgoing.write(part);
  });
  await new Promise<void>((resolve) => received.on("close", resolve));
  outgoing.end();
  return {
    method,
    path,
    form,
    status: received.statusCode ?? 502,
    challenge: received.headers["www-authenticate"],
    body,
  };
}

async function readText(message: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of message.setEncoding("utf8")) text += String(part);
  return text;
}
