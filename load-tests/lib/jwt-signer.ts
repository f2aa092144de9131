import encoding from "k6/encoding";
import type { PrivateKey } from "./seed-file.ts";

const algorithm = { name: "ECDSA", namedCurve: "P-256" } as const;

/** **Signs JWTs in k6** with a P-256 key, which is imported once. Each costs the load generator one ES256 signature. */
export class JwtSigner {
  readonly #header: string;
  readonly #key: ReturnType<typeof crypto.subtle.importKey>;

  constructor(header: Readonly<Record<string, unknown>>, privateJwk: PrivateKey) {
    this.#header = encode({ ...header, alg: "ES256" });
    this.#key = crypto.subtle.importKey("jwk", privateJwk, algorithm, false, ["sign"]);
  }

  async sign(claims: Readonly<Record<string, unknown>>): Promise<string> {
    const signed = `${this.#header}.${encode(claims)}`;
    const digest = { ...algorithm, hash: { name: "SHA-256" } };
    const signature = await crypto.subtle.sign(digest, await this.#key, octetsOf(signed));
    return `${signed}.${encoding.b64encode(signature, "rawurl")}`;
  }
}

function encode(value: unknown): string {
  return encoding.b64encode(JSON.stringify(value), "rawurl");
}

/** Every text here is ASCII. k6 cannot make an array from a string. */
export function octetsOf(text: string): ArrayBuffer {
  const octets = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) octets[at] = text.charCodeAt(at);
  return octets.buffer;
}
