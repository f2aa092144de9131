import { encodeBase64Url } from "./digest.ts";
import type { ProofNonces } from "./dpop-proof.ts";

/**
 * **Nonces for DPoP proofs without a store** (RFC 9449 §9): a number of the current period and its MAC, accepted during this period and the
 * next one. All Workers with the same secret accept them. The secret has at least 32 characters.
 */
export function macNonces(secret: string, periodSeconds = 300): ProofNonces {
  if (secret.length < 32) throw new TypeError("macNonces: the secret is shorter than 32 characters");
  const period = () => Math.floor(Date.now() / 1000 / periodSeconds);
  const nonceOf = async (number: number) => {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
    return encodeBase64Url(new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(`nonce ${number}`))));
  };
  return {
    current: () => nonceOf(period()),
    // Nonces are public, so a comparison whose duration depends on the match reveals nothing.
    accepts: async (nonce) => nonce === (await nonceOf(period())) || nonce === (await nonceOf(period() - 1)),
  };
}

const encoder = new TextEncoder();
