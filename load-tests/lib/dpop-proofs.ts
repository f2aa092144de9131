import { createHash, randomBytes } from "node:crypto";
import { jwtSigner, newPrivateKey, publicKeyOf } from "./node-jwt-signer.ts";
import type { PrivateKey } from "./seed-file.ts";

/** **DPoP proofs as created by a client** (RFC 9449 §4.2). */
export class DpopProofs {
  readonly privateKey: PrivateKey;
  readonly #issuer: string;
  readonly #sign: (claims: object) => string;
  /** Hashes of the presented tokens, by token. */
  readonly #hashes = new Map<string, string>();

  /** `issuer` is the base of the `htu`, wherever the request is sent. */
  constructor(issuer: string, privateKey = newPrivateKey()) {
    this.#issuer = issuer;
    this.privateKey = privateKey;
    this.#sign = jwtSigner({ typ: "dpop+jwt", jwk: publicKeyOf(privateKey) }, privateKey);
  }

  /** `token` is the access token of a request to a protected resource, for `ath`. */
  make(method: "GET" | "POST", path: string, token?: string): string {
    return this.#sign({
      jti: randomBytes(12).toString("base64url"),
      htm: method,
      htu: this.#issuer + path,
      iat: Math.floor(Date.now() / 1000),
      ...(token === undefined ? {} : { ath: this.#hashOf(token) }),
    });
  }

  #hashOf(token: string): string {
    const known = this.#hashes.get(token) ?? createHash("sha256").update(token).digest("base64url");
    this.#hashes.set(token, known);
    return known;
  }
}
