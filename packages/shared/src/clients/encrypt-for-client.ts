import { encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RequestContext } from "../http/request-context.ts";
import { onFirstUse } from "../runtime/on-first-use.ts";
import type { Client } from "./client.ts";
import type { ClientKeys } from "./client-keys.ts";

const encryption = onFirstUse(() => import("jose/jwe/compact/encrypt"));

/** The texts for which a client can register encryption; each is the prefix of its metadata members. */
export type EncryptedPurpose = "id_token" | "userinfo" | "authorization";

/** Whether the client registered encryption for the purpose. */
export function encryptsFor({ metadata }: Pick<Client, "metadata">, purpose: EncryptedPurpose): boolean {
  return metadata[`${purpose}_encrypted_response_alg`] !== undefined;
}

/**
 * **Encrypts a text with a key of the client**, if it registered encryption for the purpose; otherwise returns the text unchanged. A JWT becomes a
 * nested JWT, which is signed first. Cost: 1 encryption; 1 fetch if the keys of a `jwks_uri` are not cached.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#SigningOrder
 */
export async function encryptForClient(
  context: RequestContext<unknown>,
  keys: ClientKeys,
  client: Client,
  purpose: EncryptedPurpose,
  { text, isJwt }: { readonly text: string; readonly isJwt: boolean },
): Promise<string> {
  const alg = client.metadata[`${purpose}_encrypted_response_alg`];
  if (alg === undefined) return text;
  const enc = client.metadata[`${purpose}_encrypted_response_enc`] ?? "A128CBC-HS256";
  const key = await keys.findEncryptionKey(context, client, alg);
  if (key === undefined) {
    const { reason, ...told } = keys.explain(context, client, "client-encryption-key-missing");
    throw new OAuthError("invalid_request", reason, {
      detail: `no key of the client for ${alg}`,
      description: "The client registered encrypted responses, but its key set has no key for them.",
      ...told,
    });
  }
  const { kid, ...jwk } = key;
  const header = { alg, enc, ...(isJwt ? { cty: "JWT" } : {}), ...(kid === undefined ? {} : { kid }) };
  const { CompactEncrypt } = await encryption();
  return new CompactEncrypt(encodeUtf8(text)).setProtectedHeader(header).encrypt(jwk, {});
}
