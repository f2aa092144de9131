import { isFirstSignedBy, isSignedBy, type ProofKey, readProofKey } from "@edge-op/protocol/dpop/proof";
import { decodeJwt, type JwtClaims } from "@edge-op/protocol/jwt/decode-claims";
import type { ProofFault } from "@edge-op/protocol/oauth/proof-faults";
import { isolateMemory } from "../config/limits.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";

/** The estimated size of an imported public key. */
const importedKeyBytes = 1_024;
/** A client sends the same header for as long as it keeps its key; a full cache drops the oldest headers. */
const keptMs = 3_600_000;
/** A header with an RSA key of 4096 bits has about 1,000 characters. */
const longestProof = 8_192;

/** A proof with a valid signature. Its claims are not checked yet. */
export interface SignedProof {
  /** The thumbprint of the key that signed it (RFC 7638). */
  readonly jkt: string;
  readonly alg: string;
  readonly claims: JwtClaims;
}

/**
 * **Verifies the form and the signature of DPoP proofs** (RFC 9449 §4.3, items 2 to 7). Keys are cached by the text of the header,
 * which is the same in all proofs of a client: the library checks a header and its key once, and the next proofs with the same header are
 * verified with WebCrypto directly. Cost: 1 verification; a new key adds its import and its thumbprint.
 */
export class ProofKeys {
  readonly #keys = new IsolateCache<ProofKey>({
    maxBytes: isolateMemory.proofKeys,
    attachedBytes: () => importedKeyBytes,
  });

  get heldBytes(): number {
    return this.#keys.bytes;
  }

  /** Returns the reason if the proof is not valid; the reason contains no secret. */
  async verify(proof: string, atMs: number): Promise<SignedProof | ProofFault> {
    if (proof.length > longestProof) return "dpop-too-long";
    const decoded = decodeJwt(proof);
    if (decoded === undefined) return "dpop-malformed";
    const headerText = proof.slice(0, proof.indexOf("."));
    const held = this.#keys.get(headerText, atMs);
    const key = held ?? (await readProofKey(proof));
    if (typeof key === "string") return key;
    const isSigned = held === undefined ? await isFirstSignedBy(proof, key) : await isSignedBy(proof, key);
    if (!isSigned) return "dpop-signature";
    if (held === undefined) this.#keys.set(headerText, key, atMs + keptMs);
    return { jkt: key.jkt, alg: key.alg, claims: decoded.claims };
  }
}
