import { findProofFault, proofEndsMs } from "@edge-op/protocol/dpop/proof-claims";
import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
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
import { ProofKeys } from "./proof-keys.ts";
import { currentNonce, judgeNonce } from "./proof-nonce.ts";

/** A store in which exactly one of any number of callers can spend a key. */
export interface SingleUse<Env> {
  spendOnce(context: RequestContext<Env>, key: string, untilMs: number): Promise<boolean>;
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
export type ProofRefusal = (code: OAuthErrorCode, reason: RefusalReason, options: OAuthErrorOptions) => OAuthError;

export interface ProofRules {
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
 * (`DPOP_SINGLE_USE=isolate`: 0).
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
  const hasNonce = await checkNonce(context, signed.claims["nonce"], rules);
  const { accessToken } = rules;
  const found = findProofFault(signed.claims, {
    method: request.method,
    uris: originsOf(settings).map((origin) => origin + rules.path),
    accessTokenHash: accessToken === undefined ? undefined : encodeBase64Url(await sha256(accessToken)),
    hasNonce,
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
      const untilMs = proofEndsMs(Number(claims["iat"]), hasNonce);
      const isFirst =
        isolate.dpopProofs.spendHere(key, untilMs, arrivedAtMs) &&
        (settings.dpopSingleUse === "isolate" || (await isolate.challenges.spendOnce(context, key, untilMs)));
      if (!isFirst) throw refuse("dpop-replayed");
      context.spentAssertions.add(key);
    },
  };

  /** Whether the proof has an accepted nonce. A response with a newer one lets the client continue without a refusal. */
  async function checkNonce(
    { progress }: Pick<RequestContext<Env>, "progress">,
    nonce: unknown,
    { client: sender }: ProofRules,
  ): Promise<boolean> {
    if (nonce === undefined && sender?.metadata.dpop_nonce_required !== true && !settings.dpopNonces) return false;
    const judged = typeof nonce === "string" ? await judgeNonce(env, nonce, arrivedAtMs) : "refused";
    if (judged === "current") return true;
    progress.dpopNonce = await currentNonce(env, arrivedAtMs);
    if (judged === "old") return true;
    throw rules.refuse("use_dpop_nonce", nonce === undefined ? "dpop-nonce-missing" : "dpop-nonce-old", {
      description: "The DPoP proof must contain the nonce of the DPoP-Nonce header.",
    });
  }
}
