import { decodeBase64 } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { encodeJwsHeader, signCompact } from "@edge-op/protocol/jwt/sign-compact";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import type * as Library from "openid-client";

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
