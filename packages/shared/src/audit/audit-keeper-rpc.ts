/**
 * **The RPC methods by which `ControlPlane` keeps the audit log** (ADR 35): it copies the rows of `admin_events` into the chain, exports
 * the log and applies its retention. Nothing that a request decides depends on them.
 */
export interface AuditKeeperRpc extends Rpc.DurableObjectBranded {
  /** There may be rows to copy: the next alarm is due now. Without this call, rows are copied a few minutes later. */
  wakeAudit(): Promise<void>;
  /** Records issued tokens, within the deployment's limit. Best effort: the caller does not repeat a failed call. */
  recordIssued(tokens: readonly IssuedToken[], omitted: number): Promise<IssuedTokensResult>;
  auditStatus(): Promise<AuditLogStatus>;
}

export interface IssuedTokensResult {
  /** The isolate waits this long before it sends its next tokens. */
  readonly pauseMs: number;
}

/** A token response of `/token`, for the audit; never the token. */
export interface IssuedToken {
  readonly atMs: number;
  readonly grantType: string;
  readonly clientId: string;
  readonly sub?: string | undefined;
  readonly scope?: string | undefined;
  /** `issuer_id:rule_id` of each trusted issuer whose rule admitted the request. */
  readonly issuerRules?: readonly string[] | undefined;
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
}

export interface AuditLogStatus {
  /** Number of the newest row of `admin_events` that is in the chain. */
  readonly relayedSeq: number;
  /** When the oldest event that the database may lack was recorded. */
  readonly oldestUnconfirmedAtMs: number | undefined;
  /** The newest known position and, with an export, the newest exported position. */
  readonly position: number;
  readonly exportedPosition: number | undefined;
  /** How often the database was found to be restored to an earlier moment. */
  readonly setBacks: number;
}
