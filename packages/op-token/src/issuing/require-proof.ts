import type { ClientCertificate } from "@edge-op/protocol/mtls/client-certificate";
import { type Confirmation, isConfirmedBy } from "@edge-op/protocol/oauth/confirmation";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { type ProvenKey, readProof } from "@edge-op/shared/callers/read-proof";
import type { Client } from "@edge-op/shared/clients/client";
import { isFapi } from "@edge-op/shared/clients/security-profile";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { TokenEnv } from "@edge-op/workers/env";
import type { GrantRequest } from "../grant-module.ts";
import type { TokenIsolate } from "../isolate.ts";

/**
 * **The key that tokens are bound to**: of the DPoP proof, or of the certificate if the client is registered for that. A client that is registered
 * for one kind must prove that kind, even if it also proves the other (RFC 9449 §5.2, RFC 8705 §3.4); a client with FAPI 2.0 must prove either kind
 * (§5.3.2.1 item 4).
 */
export async function requireProof(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  client: Client,
  request: ReceivedRequest,
  certificate: ClientCertificate | undefined,
): Promise<ProvenKey | undefined> {
  const { metadata } = client;
  const proof = await readProof(context, isolate, request, {
    path: "/token",
    client,
    refuse: (code, reason, options) => new OAuthError(code, reason, options),
  });
  if (metadata.dpop_bound_access_tokens === true && proof === undefined) {
    throw new OAuthError("invalid_dpop_proof", "dpop-proof-required", {
      description: "The client is registered for DPoP-bound tokens: a DPoP proof is required.",
    });
  }
  const isCertificateBound = metadata.tls_client_certificate_bound_access_tokens === true;
  if (isCertificateBound && certificate === undefined) {
    throw new OAuthError("invalid_request", "certificate-required", {
      description: "The client is registered for certificate-bound tokens: a client certificate is required.",
    });
  }
  // A token has one key: that of the proof, if there is one (ADR 37).
  if (proof !== undefined) return proof;
  const mustBind = isFapi(context.settings, client);
  if (certificate !== undefined && (isCertificateBound || mustBind)) return certificateProof(certificate);
  if (!mustBind) return undefined;
  throw new OAuthError("invalid_request", "fapi-token-not-bound", {
    description: "A DPoP proof or a client certificate is required: the client's tokens must be sender-constrained.",
  });
}

/** The handshake has proven the key for the whole connection: nothing is spent. */
function certificateProof({ thumbprint }: ClientCertificate): ProvenKey {
  return { cnf: { method: "x5t#S256", thumbprint }, spend: async () => {} };
}

/** Whether a request proves the key that a presented token is bound to (RFC 7800 §3), by a DPoP proof or by its certificate. */
export function isBindingProven(
  { proof, certificate }: Pick<GrantRequest, "proof" | "certificate">,
  cnf: Confirmation,
) {
  return cnf.method === "x5t#S256"
    ? cnf.thumbprint === certificate?.thumbprint
    : cnf.method === "jkt" && isConfirmedBy(cnf, proof?.cnf);
}
