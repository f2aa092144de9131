import { createPrivateKey, generateKeyPairSync, sign } from "node:crypto";
import type { PrivateKey } from "./seed-file.ts";

/** A new P-256 key. */
export function newPrivateKey(): PrivateKey {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { kty = "", crv = "", x = "", y = "", d = "" } = privateKey.export({ format: "jwk" });
  return { kty, crv, x, y, d };
}

export function publicKeyOf({ kty, crv, x, y }: PrivateKey) {
  return { kty, crv, x, y };
}

/**
 * **Signs JWTs in Node** (ES256), synchronously, because a load generator writes a request in one turn. About 30 µs each. `jwt-signer.ts` does it in
 * k6, which has neither Node's modules nor synchronous signatures.
 */
export function jwtSigner(header: object, key: PrivateKey): (claims: object) => string {
  const privateKey = createPrivateKey({ key: { ...key }, format: "jwk" });
  const encoded = encode({ ...header, alg: "ES256" });
  return (claims) => {
    const signed = `${encoded}.${encode(claims)}`;
    const signature = sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" });
    return `${signed}.${signature.toString("base64url")}`;
  };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
