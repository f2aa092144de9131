import { fetchClientUrl } from "@edge-op/shared/http/fetch-client-url";
import type { CustomFetch } from "openid-client";

/** The server of an upstream provider gave no response, or has no usable metadata. */
export class UpstreamUnreachable extends Error {}

/** Headers of the response as it was sent, whose body is decoded here; and the challenge of a 401, which hides the error in the body from the library. */
const droppedHeaders = ["content-encoding", "content-length", "transfer-encoding", "www-authenticate"];

/** **The one fetcher of URLs of others, in the form that openid-client calls** (ADR 47): bounded in time and size, public hosts, no redirects. */
export function guardedFetch(issuer: string): CustomFetch {
  return async (url, { method, headers, body }) => {
    const text = body === undefined || body === null ? {} : { body: String(body) };
    const result = await fetchClientUrl(url, issuer, { method: method === "POST" ? "POST" : "GET", headers, ...text });
    if (result.kind !== "response") throw new UpstreamUnreachable(`${url}: ${result.reason}`);
    const kept = new Headers(result.headers);
    for (const name of droppedHeaders) kept.delete(name);
    if (result.status >= 500 || result.status === 429) throw new UpstreamUnreachable(`${url}: status ${result.status}`);
    const isEmpty = result.status === 204 || result.status === 304;
    return new Response(isEmpty ? null : result.body, { status: result.status, headers: kept });
  };
}
