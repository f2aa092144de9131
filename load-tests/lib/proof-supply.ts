import encoding from "k6/encoding";
import { JwtSigner, octetsOf } from "./jwt-signer.ts";
import type { PrivateKey } from "./seed-file.ts";

/**
 * **DPoP proofs of a virtual user** (RFC 9449 §4.2), made before its requests: signing is asynchronous in k6, and requests are not. Costs the
 * load generator one ES256 signature a request.
 */
export interface WantedProofs {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** As many requests as an attempt can send. */
  readonly count: number;
  /** The access token of a request to a protected resource, for `ath`. */
  readonly token?: string;
}

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

  /** Each one once. */
  take(): string {
    const proof = this.#ready.pop();
    if (proof === undefined) throw new Error("the scenario sends more requests than it has asked proofs for");
    return proof;
  }
}
