/**
 * **Decides about a device code**: the person's decision, a poll, the redemption. Pure. The first decision stands. Another client's device code, and
 * a refused poll, change nothing. A second redemption is a replay and revokes the grant, as for an authorization code.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8628#section-3.5
 */

import { refuseDetails } from "@edge-op/protocol/oauth/authorization-details";
import { isConfirmedBy } from "@edge-op/protocol/oauth/confirmation";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { refuseResources, uncheckedResources } from "@edge-op/shared/clients/token-targets";
import type {
  DeviceDecision,
  DevicePoll,
  DevicePollResult,
  DeviceRedeemRequest,
  DeviceRedeemResult,
  DeviceRefusal,
} from "@edge-op/shared/codes/device-code-rpc";
import { type GrantRevocation, rowUntilMs } from "@edge-op/shared/grants/grant-revocation";

export interface DeviceRow {
  readonly clientId: string;
  readonly intervalMs: number;
  readonly expiresAtMs: number;
  readonly decision: DeviceDecision | undefined;
  /** The request that redeemed it. */
  readonly spentBy: string | undefined;
}

/** The time of a device's last poll and how long the device must wait; in memory only. */
export interface PollPace {
  readonly atMs: number;
  readonly intervalMs: number;
  readonly operationId: string;
}

type Approval = Extract<DeviceDecision, { readonly kind: "approve" }>;

/** RFC 8628 §3.5: `slow_down` adds five seconds for this and all subsequent requests. */
const slowerMs = 5_000;
/** A device waits for the interval after a response, and the travel time of its request varies, so the time between arrivals varies too. */
const toleratedShare = 0.2;

export function isUndecided(row: DeviceRow | undefined, nowMs: number): boolean {
  return row !== undefined && row.decision === undefined && row.expiresAtMs > nowMs;
}

/** The decision that this person has made, for one that is sent twice. */
export function decisionOf(row: DeviceRow | undefined, sub: string): DeviceDecision["kind"] | undefined {
  const decision = row?.decision;
  return decision?.kind === "approve" && decision.payload.sub !== sub ? undefined : decision?.kind;
}

/** The result of a person's decision: either it is stored, or the stored one is the same or not. */
export function decideDecision(
  row: DeviceRow | undefined,
  decision: DeviceDecision,
  nowMs: number,
): { readonly stands: boolean; readonly store: boolean } {
  if (isUndecided(row, nowMs)) return { stands: true, store: true };
  const earlier = row?.decision;
  const isSame =
    (earlier?.kind === "deny" && decision.kind === "deny") ||
    (earlier?.kind === "approve" && decision.kind === "approve" && earlier.payload.sub === decision.payload.sub);
  return { stands: isSame, store: false };
}

export function decidePoll(
  row: DeviceRow | undefined,
  pace: PollPace | undefined,
  poll: DevicePoll,
  nowMs: number,
): { readonly result: DevicePollResult; readonly pace: PollPace | undefined } {
  const refusal = findRefusal(row, poll, nowMs);
  if (refusal !== undefined) return { result: refusal, pace: undefined };
  if (row?.decision?.kind === "approve") {
    const { grant, sub } = row.decision.payload;
    return { result: { kind: "approved", grant, sub }, pace: undefined };
  }
  const pending = { kind: "authorization_pending", reason: "device-pending" } as const;
  const { operationId } = poll;
  const intervalMs = pace?.intervalMs ?? row!.intervalMs;
  const isTooEarly = pace !== undefined && nowMs - pace.atMs < pace.intervalMs * (1 - toleratedShare);
  if (pace?.operationId === operationId || !isTooEarly) {
    return { result: pending, pace: { atMs: nowMs, intervalMs, operationId } };
  }
  const slowed = intervalMs + slowerMs;
  return {
    result: { kind: "slow_down", reason: "device-polls-too-often" },
    pace: { atMs: nowMs, intervalMs: slowed, operationId },
  };
}

export function decideDeviceRedemption(
  row: DeviceRow | undefined,
  request: DeviceRedeemRequest,
  nowMs: number,
): { readonly result: DeviceRedeemResult; readonly spend: boolean } {
  const refusal = findRefusal(row, request, nowMs);
  if (refusal !== undefined) return { result: refusal, spend: false };
  const { decision, spentBy } = row!;
  if (decision?.kind !== "approve") return refused("authorization_pending", "device-pending");
  const { payload } = decision;
  // Checked before anything that the holder of a stolen code could cause, because a replay ends the grant.
  if (!isConfirmedBy(payload.cnf, request.cnf)) return refused("invalid_grant", "device-code-of-other-key");
  if (spentBy !== undefined) {
    // The response to this request was lost between object and Worker, so no client has received it.
    if (spentBy === request.operationId) return { result: { kind: "redeemed", payload }, spend: false };
    return { result: { kind: "replayed", revocation: replayRevocation(decision) }, spend: false };
  }
  const unchecked = uncheckedResources(request.resources, payload.resources, request.targets);
  if (unchecked !== undefined) return { result: { kind: "unchecked_resources", resources: unchecked }, spend: false };
  const fault = refuseResources(request.resources, payload.resources, request.targets);
  if (fault !== undefined) return refused("invalid_target", fault);
  const beyond = refuseDetails(payload.authorizationDetails, request.authorizationDetails);
  if (beyond !== undefined) return refused("invalid_authorization_details", beyond);
  return { result: { kind: "redeemed", payload }, spend: true };
}

/** The refusals that polls and redemptions share. A spent code is no longer waiting, so it does not expire. */
function findRefusal(
  row: DeviceRow | undefined,
  { clientId }: Pick<DevicePoll, "clientId">,
  nowMs: number,
): DeviceRefusal | undefined {
  // The code's MAC was verified, so it existed and its row has since been deleted.
  if (row === undefined) return { kind: "expired_token", reason: "device-code-forgotten" };
  if (row.clientId !== clientId) return { kind: "invalid_grant", reason: "device-code-of-other-client" };
  if (row.spentBy !== undefined) return undefined;
  if (row.expiresAtMs <= nowMs) return { kind: "expired_token", reason: "device-code-expired" };
  return row.decision?.kind === "deny" ? { kind: "access_denied", reason: "device-denied" } : undefined;
}

function refused(kind: DeviceRefusal["kind"], reason: RefusalReason) {
  return { result: { kind, reason }, spend: false } as const;
}

function replayRevocation({ payload, tokensEndAtMs }: Approval): GrantRevocation {
  const { grant, clientId, refreshable, familyAddress: address, grantEndsAtMs } = payload;
  const revocation = { grant, clientId, reason: "device_code_replayed" } as const;
  return refreshable
    ? { ...revocation, untilMs: grantEndsAtMs, family: { address, tokensEndAtMs } }
    : { ...revocation, untilMs: rowUntilMs(tokensEndAtMs) };
}
