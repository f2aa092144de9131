import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface SlowResponse {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** **A request whose headers are sent long before its body**, on a socket of its own. */
export class SlowRequest {
  readonly #socket: Socket;
  readonly #body: string;
  #answer = "";

  private constructor(socket: Socket, body: string) {
    this.#socket = socket;
    this.#body = body;
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => {
      this.#answer += text;
    });
  }

  /** Sends the headers and the first half of the body. */
  static async begin(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<SlowRequest> {
    const { hostname, port, host, pathname } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    const lines = Object.entries({ Host: host, Connection: "close", ...headers }).map((pair) => pair.join(": "));
    const half = Math.floor(body.length / 2);
    const framing = `Content-Length: ${body.length}`;
    socket.write(`POST ${pathname} HTTP/1.1\r\n${[...lines, framing].join("\r\n")}\r\n\r\n${body.slice(0, half)}`);
    return new SlowRequest(socket, body);
  }

  /** Sends the rest; the response. */
  finish(): Promise<SlowResponse> {
    this.#socket.write(this.#body.slice(Math.floor(this.#body.length / 2)));
    return this.answer();
  }

  /** The response to what was sent so far, when the connection is closed. */
  async answer(): Promise<SlowResponse> {
    if (!this.#socket.closed) await once(this.#socket, "close");
    const [head = "", body = ""] = this.#answer.split("\r\n\r\n", 2);
    return {
      status: Number(/^HTTP\/1\.1 (\d+) /.exec(head)?.[1]),
      body: JSON.parse(body.slice(body.indexOf("{"), body.lastIndexOf("}") + 1)) as Record<string, unknown>,
    };
  }
}
