import { type SpendRequest, type SpendResult, spentMemoryMs } from "@edge-op/shared/codes/authorization-code-rpc";

/** A code that has been spent. */
export interface SpentCode {
  /** The request that redeemed it. */
  readonly spentBy: string;
  /** The row is deleted after this: the code has expired long before, and is refused by that. */
  readonly untilMs: number;
}

export interface SpendDecision {
  readonly result: SpendResult;
  readonly next?: SpentCode;
}

/**
 * **Decides one use of an authorization code** whose holder has presented everything that it is bound to. Pure. The first use spends the code; any
 * later one is a replay and revokes the grant, unless it is being checked: a request that is not granted must not end a grant, so it is judged when
 * it is sent again after the check.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2
 */
export function decideSpend(
  row: SpentCode | undefined,
  request: Pick<SpendRequest, "expiresAtMs" | "refusal" | "revocation" | "operationId" | "isUnchecked">,
  nowMs: number,
): SpendDecision {
  const { expiresAtMs, refusal, revocation, operationId, isUnchecked } = request;
  // The response to this request was lost between object and Worker, so no client has received it.
  if (row?.spentBy === operationId) return { result: { kind: "spent" } };
  if (row !== undefined)
    return { result: isUnchecked ? { kind: "unchecked_request" } : { kind: "replayed", revocation } };
  if (expiresAtMs <= nowMs) return { result: { kind: "invalid_grant", reason: "code-expired" } };
  if (refusal !== undefined) return { result: refusal };
  return { result: { kind: "spent" }, next: { spentBy: operationId, untilMs: nowMs + spentMemoryMs } };
}

/** Whether a refused request has the row deleted: only the request that spent the code. */
export function isTakenBack(row: SpentCode | undefined, operationId: string): boolean {
  return row?.spentBy === operationId;
}
