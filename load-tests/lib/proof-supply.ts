import encoding from "k6/encoding";
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

const algorithm = { name: "ECDSA", namedCurve: "P-256" } as const;

export class ProofSupply {
  readonly #issuer: string;
  readonly #header: string;
  readonly #key: ReturnType<typeof crypto.subtle.importKey>;
  #ready: string[] = [];

  constructor(issuer: string, privateJwk: PrivateKey) {
    const { kty, crv, x, y } = privateJwk;
    this.#issuer = issuer;
    this.#header = encode({ typ: "dpop+jwt", alg: "ES256", jwk: { kty, crv, x, y } });
    this.#key = crypto.subtle.importKey("jwk", privateJwk, algorithm, false, ["sign"]);
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
      const signed = `${this.#header}.${encode(claims)}`;
      const signature = await crypto.subtle.sign(
        { ...algorithm, hash: { name: "SHA-256" } },
        await this.#key,
        octetsOf(signed),
      );
      ready.push(`${signed}.${encoding.b64encode(signature, "rawurl")}`);
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

function encode(value: unknown): string {
  return encoding.b64encode(JSON.stringify(value), "rawurl");
}

/** Every text here is ASCII. k6 cannot make an array from a string. */
function octetsOf(text: string): ArrayBuffer {
  const octets = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) octets[at] = text.charCodeAt(at);
  return octets.buffer;
}
