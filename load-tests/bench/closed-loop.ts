import { connect, type Socket } from "node:net";

/**
 * **Closed-loop load, like wrk's**: a number of connections with one request in flight each, as fast as responses arrive. Raw
 * HTTP/1.1 over sockets, because the generator must cost a fraction of the server, and because a refresh needs the previous
 * response. Every response is checked.
 */
export interface Target {
  readonly origin: string;
  /** The bytes of a connection's next request. */
  readonly next: (connection: number) => string;
  /** Throws when the answer is not right. */
  readonly check: (connection: number, status: number, body: string) => void;
  /** Sees each answer's head, in lower case. */
  readonly onHead?: (head: string) => void;
}

export interface LoopResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export async function runLoop(target: Target, connections: number, seconds: number): Promise<LoopResult> {
  const startedAt = performance.now();
  const endAt = startedAt + seconds * 1000;
  const latencies: number[] = [];
  await Promise.all(
    Array.from({ length: connections }, (_, connection) => drive(target, connection, endAt, latencies)),
  );
  const elapsed = (performance.now() - startedAt) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return {
    requests: latencies.length,
    perSecond: latencies.length / elapsed,
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    p99Ms: at(0.99),
    maxMs: latencies.at(-1) ?? 0,
  };
}

function drive(target: Target, connection: number, endAt: number, latencies: number[]): Promise<void> {
  const { hostname, port } = new URL(target.origin);
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true });
    let sentAt = 0;
    let received = "";
    const send = () => {
      sentAt = performance.now();
      socket.write(target.next(connection), "latin1");
    };
    socket.setEncoding("latin1");
    socket.on("connect", send);
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the provider closed a connection")));
    socket.on("data", (chunk: string) => {
      received += chunk;
      const response = readResponse(received);
      if (response === undefined) return;
      received = "";
      const now = performance.now();
      latencies.push(now - sentAt);
      try {
        target.check(connection, response.status, response.body);
        target.onHead?.(response.head);
      } catch (error) {
        socket.removeAllListeners("close").destroy();
        reject(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      if (now < endAt) return send();
      socket.removeAllListeners("close").destroy();
      resolve();
    });
  });
}

/** `undefined` until the whole response is there. */
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
