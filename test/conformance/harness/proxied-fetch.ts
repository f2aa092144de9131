import { request as httpRequest } from "node:http";

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

function send(url: string, method: string, headers: Readonly<Record<string, string>>, body: Buffer): Promise<Response> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { method, headers }, async (incoming) => {
      const received: [string, string][] = [];
      for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
        received.push([incoming.rawHeaders[at]!, incoming.rawHeaders[at + 1]!]);
      }
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const status = incoming.statusCode!;
      const content = [204, 303, 304].includes(status) ? null : Buffer.concat(chunks);
      resolve(new Response(content, { status, headers: received }));
    });
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}
