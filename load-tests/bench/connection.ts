import { connect, type Socket } from "node:net";

/** The requests of a load and their expected responses. */
export interface Target {
  readonly origin: string;
  /** The bytes of a connection's next request. */
  readonly next: (connection: number) => string;
  /** Throws if the response is wrong. */
  readonly check: (connection: number, status: number, body: string) => void;
  /** Called with the head of each response, in lower case. */
  readonly onHead?: (head: string) => void;
}

interface Waiting {
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * **One connection with at most one request in flight.** Raw HTTP/1.1 over a socket, because the generator must cost a fraction of the
 * server. Every response is checked.
 */
export class Connection {
  readonly #target: Target;
  readonly #number: number;
  readonly #socket: Socket;
  #received = "";
  #waiting: Waiting | undefined;
  #failure: Error | undefined;
  /** Settles when the connection is open or has failed. */
  readonly opened: Promise<void>;

  constructor(target: Target, number: number) {
    this.#target = target;
    this.#number = number;
    const { hostname, port } = new URL(target.origin);
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.setEncoding("latin1");
    this.#socket.on("error", (error) => this.fail(error));
    this.#socket.on("close", () => this.fail(new Error("the provider closed a connection")));
    this.#socket.on("data", (chunk: string) => this.#receive(chunk));
    this.opened = new Promise((resolve) => this.#socket.once("connect", resolve).once("close", () => resolve()));
  }

  /** Sends the next request, and resolves when its response is correct. */
  exchange(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) {
        reject(this.#failure);
        return;
      }
      this.#waiting = { resolve, reject };
      this.#socket.write(this.#target.next(this.#number), "latin1");
    });
  }

  #receive(chunk: string): void {
    this.#received += chunk;
    const response = readResponse(this.#received);
    if (response === undefined) return;
    this.#received = "";
    const waiting = this.#waiting;
    this.#waiting = undefined;
    try {
      this.#target.check(this.#number, response.status, response.body);
      this.#target.onHead?.(response.head);
      waiting?.resolve();
    } catch (error) {
      waiting?.reject(error);
    }
  }

  fail(error: Error): void {
    this.#failure ??= error;
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }

  close(): void {
    this.#socket.removeAllListeners("close").destroy();
  }
}

/** `undefined` until the response is complete. */
export function readResponse(
  text: string,
): { readonly status: number; readonly head: string; readonly body: string } | undefined {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const head = text.slice(0, headEnd).toLowerCase();
  const status = Number(head.slice(9, 12));
  const body = text.slice(headEnd + 4);
  if (head.includes("transfer-encoding: chunked"))
    return body.endsWith("0\r\n\r\n") ? { status, head, body: joinChunks(body) } : undefined;
  const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? "0");
  return body.length >= length ? { status, head, body } : undefined;
}

function joinChunks(text: string): string {
  let joined = "";
  for (let at = 0; at < text.length; ) {
    const lineEnd = text.indexOf("\r\n", at);
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    if (size === 0 || Number.isNaN(size)) break;
    joined += text.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
  }
  return joined;
}

/** A request with its head; `form` makes it a POST. */
export function formatRequest(
  origin: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  form?: string,
): string {
  const all = {
    Host: new URL(origin).host,
    ...headers,
    ...(form === undefined
      ? {}
      : { "Content-Type": "application/x-www-form-urlencoded", "Content-Length": String(form.length) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${form === undefined ? "GET" : "POST"} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${form ?? ""}`;
}

export function expectStatus(name: string, status: number, body: string): void {
  if (status !== 200) throw new Error(`${name} answered ${status}: ${body.slice(0, 200)}`);
}
