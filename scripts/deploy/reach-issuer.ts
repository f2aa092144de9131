import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { buffer } from "node:stream/consumers";

/**
 * **Fetches from the issuer** or its alias for client certificates, directly or at another address (`--origin`), if the issuer's name does not
 * resolve.
 */
export function fetchOf(issuer: string, origin: string | undefined, alias?: string): typeof fetch {
  if (origin === undefined) return fetch;
  return async (input, init) => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    if (url.origin !== issuer && url.origin !== alias) throw new Error(`${url.origin} is not the issuer ${issuer}`);
    const body = Buffer.from(await request.arrayBuffer());
    const headers = { ...Object.fromEntries(request.headers), host: url.host };
    return send(`${origin}${url.pathname}${url.search}`, request.method, headers, body);
  };
}

/** `fetch` cannot send a different `Host`. */
async function send(url: string, method: string, headers: Record<string, string>, body: Buffer): Promise<Response> {
  const open = url.startsWith("https:") ? httpsRequest : httpRequest;
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = open(url, { method, headers: { ...headers, "content-length": String(body.length) } }, resolve);
    outgoing.once("error", reject).end(body);
  });
  const received = Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const content = await buffer(incoming);
  const status = incoming.statusCode!;
  return new Response([204, 303, 304].includes(status) ? null : content, { status, headers: received });
}
