import type { webcrypto } from "node:crypto";

/**
 * **The floor**: a Worker in an endpoint Worker's place that answers a constant as large as a real answer, or makes one raw
 * signature or verification first. Behind the real front door, or on a socket of its own.
 */
const constant = JSON.stringify({ active: true, filler: "x".repeat(420) });
const message = new TextEncoder().encode("m".repeat(600));
const headers = { "Content-Type": "application/json", "Cache-Control": "no-store" };

const algorithms = {
  ES256: {
    key: { name: "ECDSA", namedCurve: "P-256" },
    sign: { name: "ECDSA", hash: "SHA-256" },
  },
  RS256: {
    key: { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
    sign: { name: "RSASSA-PKCS1-v1_5" },
  },
} as const;

interface Prepared {
  readonly pair: webcrypto.CryptoKeyPair;
  readonly signature: ArrayBuffer;
}

const prepared = new Map<string, Prepared>();

async function prepare(name: keyof typeof algorithms): Promise<Prepared> {
  const held = prepared.get(name);
  if (held !== undefined) return held;
  const { key, sign } = algorithms[name];
  const pair = (await crypto.subtle.generateKey(key, false, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
  const made = { pair, signature: await crypto.subtle.sign(sign, pair.privateKey, message) };
  prepared.set(name, made);
  return made;
}

export default {
  async fetch(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text());
    const [work, name] = (form.get("work") ?? "none").split(" ");
    if (name === "ES256" || name === "RS256") {
      const { pair, signature } = await prepare(name);
      if (work === "sign") await crypto.subtle.sign(algorithms[name].sign, pair.privateKey, message);
      else await crypto.subtle.verify(algorithms[name].sign, pair.publicKey, signature, message);
    }
    return new Response(constant, { headers });
  },
};
