import { request as httpRequest, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";

/**
 * **The provider as it is reached through a TLS proxy**: what is sent to the issuer arrives at the provider's socket in plain http, with
 * the issuer's host name and the headers that such a proxy adds.
 */
export function proxiedFetch(
  issuer: string,
  origin: string,
  added: Readonly<Record<string, string>> = {},
): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, { ...init, redirect: "manual" });
    const url = new URL(request.url);
    if (url.origin !== issuer) throw new Error(`${url.origin} is not behind this proxy`);
    const body = Buffer.from(await request.arrayBuffer());
    const headers = {
      ...Object.fromEntries(request.headers),
      host: url.host,
      "x-forwarded-proto": url.protocol.slice(0, -1),
      "x-forwarded-host": url.host,
      ...added,
      ...(body.length > 0 ? { "content-length": String(body.length) } : {}),
    };
    return send(`${origin}${url.pathname}${url.search}`, request.method, headers, body);
  };
}

async function send(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): Promise<Response> {
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest(url, { method, headers }, resolve).once("error", reject).end(body);
  });
  const received = Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const content = await buffer(incoming);
  const status = incoming.statusCode!;
  return new Response([204, 303, 304].includes(status) ? null : content, { status, headers: received });
}
