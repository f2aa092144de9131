import { isFirstSignedBy, isSignedBy, type ProofKey, readProofKey } from "@edge-op/protocol/dpop/proof";
import { findProofFault, proofLife } from "@edge-op/protocol/dpop/proof-claims";
import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { decodeJwt, type JwtClaims } from "@edge-op/protocol/jwt/decode-claims";
import type { KeyConfirmation } from "@edge-op/protocol/oauth/confirmation";
import type { OAuthError, OAuthErrorCode, OAuthErrorOptions } from "@edge-op/protocol/oauth/errors";
import { type ProofFault, proofFaults } from "@edge-op/protocol/oauth/proof-faults";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import type { Client } from "../clients/client.ts";
import { isAllowedAlgorithm } from "../clients/security-profile.ts";
import { isolateMemory } from "../config/limits.ts";
import type { Settings } from "../config/settings.ts";
import type { RequestContext } from "../http/request-context.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import type { ProofUse, SpentProof } from "../storage/challenges.ts";
import { ageOf, formatNonce, lifeOf, type ProofNonce, readNonce } from "./proof-nonces.ts";

/** A store in which exactly one of any number of callers can spend a proof. */
interface SingleUse<Env> {
  spendProof(context: RequestContext<Env>, proof: ProofUse): Promise<SpentProof>;
}

/** The parts of an isolate that verify proofs. */
export interface ProofIsolate<Env> {
  readonly dpopProofs: DpopProofs;
  readonly challenges: SingleUse<Env>;
}

/** **The memory of an isolate for DPoP**: keys of clients, and the proofs that it has accepted. */
export class DpopProofs {
  readonly keys = new ProofKeys();
  readonly #seen = new IsolateCache<true>({ maxBytes: isolateMemory.seenProofs });

  get heldBytes(): number {
    return this.keys.heldBytes + this.#seen.bytes;
  }

  /** True once per proof in this isolate, as long as its memory suffices. */
  spendHere(key: string, untilMs: number, atMs: number): boolean {
    if (this.#seen.get(key, atMs)) return false;
    this.#seen.set(key, true, untilMs);
    return true;
  }
}

/** The issuer and its alias for mutual TLS (RFC 8705 §5). A client may send proofs at either. */
function originsOf({ issuer, mtlsOrigin }: Settings): readonly string[] {
  return mtlsOrigin === undefined ? [issuer] : [issuer, mtlsOrigin];
}

/** How an endpoint refuses a proof: the token endpoint by 400, a protected resource by 401 with a challenge. */
type ProofRefusal = (code: OAuthErrorCode, reason: RefusalReason, options: OAuthErrorOptions) => OAuthError;

interface ProofRules {
  /** The path of the endpoint under the issuer. */
  readonly path: string;
  /** The access token that is presented with the proof. */
  readonly accessToken?: string;
  /** The client that sends the proof: it may require a nonce, and its profile may exclude algorithms. */
  readonly client: Client | undefined;
  readonly refuse: ProofRefusal;
}

/** A key that the request has proven: by a DPoP proof, or by the certificate of its connection. */
export interface ProvenKey {
  readonly cnf: KeyConfirmation;
  /** Spends a DPoP proof; refuses one that was used before. To be called once nothing else can refuse the request. */
  spend(): Promise<void>;
}

/**
 * **Verifies the DPoP proof of a request** (RFC 9449 §4.3); `undefined` if it has none. Its `htu` is compared with the issuer's URL of the
 * endpoint, whichever Worker or route has received the request. Cost: 1 verification and, for `spend`, 1 object call
 * (`DPOP_SINGLE_USE=isolate`: 0), which writes no row. `spend` refuses by `use_dpop_nonce` what may be older than the memory of the object.
 */
export async function readProof<Env extends MasterKeyBindings>(
  context: RequestContext<Env>,
  isolate: ProofIsolate<NoInfer<Env>>,
  request: Pick<Request, "headers" | "method">,
  rules: ProofRules,
): Promise<ProvenKey | undefined> {
  const header = request.headers.get("DPoP");
  if (header === null) return undefined;
  const { env, arrivedAtMs, settings } = context;
  const refuse = (fault: ProofFault, clock?: string) => {
    const description = `The DPoP proof is invalid: ${clock === undefined ? proofFaults[fault] : `its ${clock}`}.`;
    return rules.refuse("invalid_dpop_proof", fault, { description, detail: description });
  };

  const signed = await isolate.dpopProofs.keys.verify(header, arrivedAtMs);
  if (typeof signed === "string") throw refuse(signed);
  const { client } = rules;
  if (client !== undefined && !isAllowedAlgorithm(settings, client, signed.alg)) {
    throw refuse("dpop-alg-not-allowed");
  }
  const nonce = await checkNonce(context, signed.claims["nonce"], rules);
  const { accessToken } = rules;
  const found = findProofFault(signed.claims, {
    method: request.method,
    uris: originsOf(settings).map((origin) => origin + rules.path),
    accessTokenHash: accessToken === undefined ? undefined : encodeBase64Url(await sha256(accessToken)),
    hasNonce: nonce?.isFresh === true,
    atMs: arrivedAtMs,
  });
  if (found !== undefined) throw refuse(found.fault, found.clock);
  const { jkt, claims } = signed;
  return {
    cnf: { method: "jkt", thumbprint: jkt },
    spend: async () => {
      // RFC 9449 §11.1: the `jti` is unique in the context of the URI, and stored as a hash, so that a long one costs no more.
      const id = encodeBase64Url(await sha256(`${jkt} ${rules.path} ${String(claims["jti"])}`));
      const key = `dpop:${id}`;
      if (context.spentAssertions.has(key)) return;
      const life = proofLife(Number(claims["iat"]), nonce && lifeOf(nonce));
      if (!isolate.dpopProofs.spendHere(key, life.untilMs, arrivedAtMs)) throw refuse("dpop-replayed");
      if (settings.dpopSingleUse === "everywhere") {
        const spent = await isolate.challenges.spendProof(context, { key, ...life, place: nonce?.place });
        if (spent.kind === "used") throw refuse("dpop-replayed");
        if (spent.kind === "newer") {
          // The store has forgotten what it may have accepted before it began (protocols.md §6).
          context.progress.dpopNonce = await formatNonce(env, arrivedAtMs, spent.place);
          throw refuseNonce(rules, "dpop-older-than-store");
        }
      }
      context.spentAssertions.add(key);
    },
  };
}

/**
 * The nonce of a proof, and whether it is fresh. A client that was given a nonce repeats it for as long as it gets no other; so one that has expired
 * counts as none where none is required. A response with a newer one lets the client continue without a refusal.
 */
async function checkNonce(
  { env, arrivedAtMs, progress, settings }: RequestContext<MasterKeyBindings>,
  presented: unknown,
  rules: ProofRules,
): Promise<(ProofNonce & { readonly isFresh: boolean }) | undefined> {
  const isRequired = rules.client?.metadata.dpop_nonce_required === true || settings.dpopNonces;
  if (presented === undefined && !isRequired) return undefined;
  const nonce = typeof presented === "string" ? await readNonce(env, presented) : undefined;
  const age = nonce && ageOf(nonce, arrivedAtMs);
  if (nonce === undefined || age === "early" || (age === "expired" && isRequired)) {
    progress.dpopNonce = await formatNonce(env, arrivedAtMs);
    throw refuseNonce(rules, presented === undefined ? "dpop-nonce-missing" : "dpop-nonce-old");
  }
  if (age === "ageing") progress.dpopNonce = await formatNonce(env, arrivedAtMs, nonce.place);
  return { ...nonce, isFresh: age !== "expired" };
}

function refuseNonce({ refuse }: ProofRules, reason: RefusalReason): OAuthError {
  return refuse("use_dpop_nonce", reason, {
    description: "The DPoP proof must contain the nonce of the DPoP-Nonce header.",
  });
}

/** The estimated size of an imported public key. */
const importedKeyBytes = 1_024;
/** A client sends the same header for as long as it keeps its key; a full cache drops the oldest headers. */
const keptMs = 3_600_000;
/** A header with an RSA key of 4096 bits has about 1,000 characters. */
const longestProof = 8_192;

/** A proof with a valid signature. Its claims are not checked yet. */
interface SignedProof {
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
class ProofKeys {
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
