import { request } from "node:http";

export interface Sent {
  readonly startedAtMs: number;
  readonly invokedAtMs: number;
  /** The response arrived before the body was sent, so it decides nothing about the request. */
  readonly incomplete: boolean;
  readonly status: number;
  readonly text: string;
  /** The request id of an error; its log line contains the same. */
  readonly requestId?: string | undefined;
}

export interface Request {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly authorization: string;
  readonly body: string;
}

/** **Sends the headers, and the body after a promise**, on a separate connection. The status of a broken connection is 0. */
export function send(
  origin: string,
  { method, path, authorization, body }: Request,
  before?: Promise<unknown>,
): Promise<Sent> {
  const startedAtMs = Date.now();
  let invokedAtMs: number | undefined;
  return new Promise((resolve, reject) => {
    const finish = (status: number, text: string, requestId?: string) =>
      resolve({
        startedAtMs,
        invokedAtMs: invokedAtMs ?? startedAtMs,
        incomplete: invokedAtMs === undefined,
        status,
        text,
        requestId,
      });
    const form = {
      "content-type": "application/x-www-form-urlencoded",
      "content-length": String(Buffer.byteLength(body)),
    };
    const headers = { authorization, ...(method === "POST" ? form : {}) };
    const outgoing = request(`${origin}${path}`, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      const requestId = response.headers["request-id"]?.toString();
      response.on("end", () => finish(response.statusCode ?? 0, Buffer.concat(chunks).toString(), requestId));
      response.on("error", () => finish(0, ""));
    });
    outgoing.on("error", () => finish(0, ""));
    const complete = () => {
      invokedAtMs = Date.now();
      outgoing.end(body);
    };
    if (before === undefined) return complete();
    outgoing.flushHeaders();
    before.then(complete, reject);
  });
}
