import encoding from "k6/encoding";
import { JwtSigner, octetsOf } from "./jwt-signer.ts";
import type { PrivateKey } from "./seed-file.ts";

export interface WantedProofs {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** The maximum number of requests of an attempt. */
  readonly count: number;
  /** The access token of a request to a protected resource, for `ath`. */
  readonly token?: string;
}

/**
 * **DPoP proofs of a virtual user** (RFC 9449 §4.2), created before its requests, because signing is asynchronous in k6 and requests are not. Each
 * request costs the load generator one ES256 signature.
 */
export class ProofSupply {
  readonly #issuer: string;
  readonly #signer: JwtSigner;
  #ready: string[] = [];

  constructor(issuer: string, privateJwk: PrivateKey) {
    const { kty, crv, x, y } = privateJwk;
    this.#issuer = issuer;
    this.#signer = new JwtSigner({ typ: "dpop+jwt", jwk: { kty, crv, x, y } }, privateJwk);
  }

  async prepare({ method, path, count, token }: WantedProofs): Promise<void> {
    const hash = token === undefined ? undefined : await crypto.subtle.digest("SHA-256", octetsOf(token));
    const ready: string[] = [];
    for (let made = 0; made < count; made += 1) {
      const claims = {
        jti: crypto.randomUUID(),
        htm: method,
        htu: this.#issuer + path,
        iat: Math.floor(Date.now() / 1000),
        ...(hash === undefined ? {} : { ath: encoding.b64encode(hash, "rawurl") }),
      };
      ready.push(await this.#signer.sign(claims));
    }
    this.#ready = ready;
  }

  /** Returns each proof once. */
  take(): string {
    const proof = this.#ready.pop();
    if (proof === undefined) throw new Error("the scenario sends more requests than it has asked proofs for");
    return proof;
  }
}
