import { refuseDetails } from "@edge-op/protocol/oauth/authorization-details";
import { isConfirmedBy } from "@edge-op/protocol/oauth/confirmation";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { refuseResources, uncheckedResources } from "@edge-op/shared/clients/token-targets";
import {
  type AuthorizationCodePayload,
  codeTokensEndAtMs,
  type RedeemRequest,
  type RedeemResult,
} from "@edge-op/shared/grants/authorization-code-rpc";
import { type GrantRevocation, rowUntilMs } from "@edge-op/shared/leases/grant-revocation";

export interface CodeRow {
  readonly payload: AuthorizationCodePayload;
  readonly expiresAtMs: number;
  readonly grantEndsAtMs: number;
  /** The request that redeemed it. */
  readonly spentBy: string | undefined;
}

export interface RedemptionDecision {
  readonly result: RedeemResult;
  readonly spend: boolean;
}

/**
 * **Decides one redemption of an authorization code.** Pure. A caller that does not present the values to which the code is bound is refused, and the
 * code is not spent. Presenting them after the first redemption is a replay and revokes the grant.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.5
 */
export function decideRedemption(row: CodeRow | undefined, request: RedeemRequest, nowMs: number): RedemptionDecision {
  if (row === undefined) return refused("code-unknown");
  const mismatch = findMismatch(row.payload, request);
  if (mismatch !== undefined) return refused(mismatch);
  if (row.spentBy !== undefined) {
    // The response to this request was lost between object and Worker, so no client has received it.
    if (row.spentBy === request.operationId) return redeemed(row, false);
    return { result: { kind: "replayed", revocation: replayRevocation(row) }, spend: false };
  }
  if (row.expiresAtMs <= nowMs) return refused("code-expired");
  if (row.payload.redirectUri !== request.redirectUri) return refused("code-redirect-uri");
  const unchecked = uncheckedResources(request.resources, row.payload.resources, request.targets);
  if (unchecked !== undefined)
    return {
      result: { kind: "unchecked_resources", resources: unchecked, reason: "rules not looked up" },
      spend: false,
    };
  const refusal = refuseResources(request.resources, row.payload.resources, request.targets);
  if (refusal !== undefined) return { result: { kind: "invalid_target", reason: refusal }, spend: false };
  const beyond = refuseDetails(row.payload.authorizationDetails, request.authorizationDetails);
  if (beyond !== undefined) return { result: { kind: "invalid_authorization_details", reason: beyond }, spend: false };
  return redeemed(row, true);
}

/** The values that prove that the caller is the client the code was issued to. A redirect_uri proves nothing, because it is not secret. */
function findMismatch(payload: AuthorizationCodePayload, request: RedeemRequest): RefusalReason | undefined {
  if (payload.clientId !== request.clientId) return "code-of-other-client";
  if (!isConfirmedBy(payload.cnf, request.cnf)) return "code-of-other-key";
  if (payload.codeChallenge === request.codeChallenge) return undefined;
  // A verifier without a challenge indicates a downgrade, in which an attacker removed the challenge from the request (RFC 9700 §4.8.2).
  if (payload.codeChallenge === undefined) return "verifier-unexpected";
  return request.codeChallenge === undefined ? "verifier-missing" : "verifier-wrong";
}

function replayRevocation({ payload, grantEndsAtMs }: CodeRow): GrantRevocation {
  const { grant, clientId, refreshable, familyAddress: address, tokenLifetimeSeconds } = payload;
  const revocation = { grant, clientId, reason: "code_replayed" } as const;
  const tokensEndAtMs = codeTokensEndAtMs(grant.grantCreatedAtMs, tokenLifetimeSeconds);
  return refreshable
    ? { ...revocation, untilMs: grantEndsAtMs, family: { address, tokensEndAtMs } }
    : { ...revocation, untilMs: rowUntilMs(tokensEndAtMs) };
}

function redeemed({ payload }: CodeRow, spend: boolean): RedemptionDecision {
  return { result: { kind: "redeemed", payload }, spend };
}

function refused(reason: RefusalReason): RedemptionDecision {
  return { result: { kind: "invalid_grant", reason }, spend: false };
}
