import { decodeBase64 } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { encodeJwsHeader, signCompact } from "@edge-op/protocol/jwt/signing-algorithms";
import { fetchClientUrl } from "@edge-op/shared/http/fetch-client-url";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import type * as Library from "openid-client";
import type { CustomFetch } from "openid-client";

/** Apple accepts half a year. */
const appleSecretMs = 5 * 60_000;

/** **How this provider authenticates at an upstream provider**, with the secret of the record. Cost: 0. */
export async function clientAuth(
  { arrivedAtMs }: RequestContext<unknown>,
  library: typeof Library,
  { document }: Upstream,
  secret: string,
): Promise<Library.ClientAuth> {
  const { kind, token_endpoint_auth_method: method, key_id: kid } = document;
  if (kind === "apple") {
    return library.ClientSecretPost(await appleSecret(document, secret, arrivedAtMs));
  }
  if (kind === "github" || method === "client_secret_post") return library.ClientSecretPost(secret);
  if (method === "client_secret_basic") return library.ClientSecretBasic(secret);
  const key = await importPrivateKey(secret);
  return library.PrivateKeyJwt(kid === undefined ? key : { key, kid });
}

/** A secret made for this request. @see https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret */
async function appleSecret(
  { client_id: sub, team_id: iss, key_id: kid = "" }: Upstream["document"],
  pem: string,
  atMs: number,
): Promise<string> {
  const header = encodeJwsHeader({ alg: "ES256", kid, typ: undefined });
  const times = { iat: toSeconds(atMs), exp: toSeconds(atMs + appleSecretMs) };
  return signCompact("ES256", await importPrivateKey(pem), header, {
    ...{ iss, sub, aud: "https://appleid.apple.com" },
    ...times,
  });
}

async function importPrivateKey(pem: string): Promise<CryptoKey> {
  const der = decodeBase64(pem.replace(/-----(BEGIN|END) PRIVATE KEY-----|\s/g, ""));
  if (der === undefined) throw new Error("the private key of an upstream provider is not PEM");
  return crypto.subtle.importKey("pkcs8", der, { name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
}

/** The server of an upstream provider gave no response, or has no usable metadata. */
export class UpstreamUnreachable extends Error {}

/**
 * Headers of the response as it was sent, whose body is decoded here; and the challenge of a 401, which hides the error in the body from the library.
 */
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
