import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { origin } from "./call.ts";

/** **A client's own key**, and the JWTs it signs with it (RFC 7523). */
export interface ClientKey {
  readonly publicJwk: JsonWebKey;
  readonly privateKey: CryptoKey;
}

export async function generateClientKey(kid = "client-key"): Promise<ClientKey> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  return { publicJwk: { ...(await exportJWK(publicKey)), kid, alg: "ES256" } as JsonWebKey, privateKey };
}

/** `claims` override the valid ones; `undefined` drops one. Lives 60 s. */
export function signAssertion(
  key: ClientKey,
  clientId: string,
  claims: Readonly<Record<string, unknown>> = {},
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({
    iss: clientId,
    sub: clientId,
    aud: origin,
    iat: now,
    exp: now + 60,
    jti: crypto.randomUUID(),
    ...claims,
  })
    .setProtectedHeader({ alg: "ES256", kid: "client-key", ...header })
    .sign(key.privateKey);
}
