import { type DetailsText, refuseDetails } from "@edge-op/protocol/oauth/authorization-details";
import { isConfirmedBy, type KeyConfirmation } from "@edge-op/protocol/oauth/confirmation";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { refuseResources, type TokenTargets, uncheckedResources } from "@edge-op/shared/clients/token-targets";
import type { AuthorizationCodePayload, RedemptionRefusal } from "@edge-op/shared/codes/authorization-code-rpc";

/** The values that prove that the caller is the client the code was issued to. */
export interface PresentedProofs {
  readonly clientId: string;
  /** The key that the request proves. */
  readonly cnf: KeyConfirmation | undefined;
  /** S256 of the presented verifier. */
  readonly codeChallenge: string | undefined;
}

/**
 * Why a caller may not use a code at all: it is refused, and can neither spend nor replay the code. A `redirect_uri` is not among the proofs, because
 * it is not secret.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.5
 */
export function findMismatch(payload: AuthorizationCodePayload, presented: PresentedProofs): RefusalReason | undefined {
  if (payload.clientId !== presented.clientId) return "code-of-other-client";
  if (!isConfirmedBy(payload.cnf, presented.cnf)) return "code-of-other-key";
  if (payload.codeChallenge === presented.codeChallenge) return undefined;
  // A verifier without a challenge indicates a downgrade, in which an attacker removed the challenge from the request (RFC 9700 §4.8.2).
  if (payload.codeChallenge === undefined) return "verifier-unexpected";
  return presented.codeChallenge === undefined ? "verifier-missing" : "verifier-wrong";
}

/** The parameters of a redemption. `undefined`: everything that was authorized (RFC 8707 §2.2, RFC 9396 §6). */
export interface RequestedUse {
  readonly redirectUri: string | undefined;
  /** The redirect URIs of the client's current registration. */
  readonly registeredUris: readonly string[];
  readonly resources: readonly string[] | undefined;
  readonly authorizationDetails: DetailsText | undefined;
  /** The targets of the client's current registration. */
  readonly targets: TokenTargets;
}

/** Why the code is not spent for a request whose proofs are right; `undefined` if it may be. */
export function refuseUse(
  payload: AuthorizationCodePayload,
  { redirectUri, registeredUris, resources, authorizationDetails, targets }: RequestedUse,
): RedemptionRefusal | undefined {
  if (redirectUri === undefined) {
    // OAuth 2.1 §10.2: PKCE prevents the injection of codes. OIDC Core §3.1.3.2: "when there is only one registered redirect_uri value".
    const mayOmit = payload.codeChallenge !== undefined && registeredUris.length === 1;
    if (!mayOmit) return { kind: "invalid_request", reason: "code-redirect-uri-missing" };
  } else if (payload.redirectUri !== redirectUri) {
    return { kind: "invalid_grant", reason: "code-redirect-uri" };
  }
  const unchecked = uncheckedResources(resources, payload.resources, targets);
  if (unchecked !== undefined) return { kind: "unchecked_resources", resources: unchecked };
  const refusal = refuseResources(resources, payload.resources, targets);
  if (refusal !== undefined) return { kind: "invalid_target", reason: refusal };
  const beyond = refuseDetails(payload.authorizationDetails, authorizationDetails);
  return beyond === undefined ? undefined : { kind: "invalid_authorization_details", reason: beyond };
}
