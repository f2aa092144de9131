import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { ProvenKey } from "@edge-op/shared/callers/read-proof";
import type { Form } from "@edge-op/shared/http/read-form";

/** Sets `dpop_jkt` to the thumbprint of the proof's key. A `dpop_jkt` that names another key is refused (RFC 9449 §10.1). */
export function bindToProof(proof: ProvenKey | undefined, parameters: Form): Form {
  if (proof === undefined) return parameters;
  const { thumbprint } = proof.cnf;
  if ((parameters.get("dpop_jkt") ?? thumbprint) !== thumbprint) {
    throw new OAuthError("invalid_dpop_proof", "dpop-jkt-differs", {
      description: "The dpop_jkt is not the thumbprint of the DPoP proof's key.",
    });
  }
  return parameters.with("dpop_jkt", thumbprint);
}
