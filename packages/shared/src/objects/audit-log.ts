/**
 * **The RPC methods by which `ControlPlane` keeps the audit log** (ADR 35): it copies the rows of `admin_events` into the chain, exports
 * the log and applies its retention. Nothing that a request decides depends on them.
 */
export interface AuditKeeperRpc {
  /** There may be rows to copy: the next alarm is due now. Without this call they are copied a few minutes later. */
  wakeAudit(): Promise<void>;
  /** Records issued tokens, within the deployment's limit. Best effort: the caller does not repeat a failed call. */
  recordIssued(tokens: readonly IssuedToken[], omitted: number): Promise<IssuedTokensResult>;
  auditStatus(): Promise<AuditLogStatus>;
}

export interface IssuedTokensResult {
  /** The isolate sends its next tokens after this. */
  readonly pauseMs: number;
}

/** A token response of `/token`, for the audit; never the token. */
export interface IssuedToken {
  readonly atMs: number;
  readonly grantType: string;
  readonly clientId: string;
  readonly sub?: string | undefined;
  readonly scope?: string | undefined;
  /** `issuer_id:rule_id` of each trusted issuer whose rule gave it. */
  readonly issuerRules?: readonly string[] | undefined;
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
}

export interface AuditLogStatus {
  /** Number of the newest row of `admin_events` that is in the chain. */
  readonly relayedSeq: number;
  /** When the oldest event that the database may not have was recorded. */
  readonly oldestUnconfirmedAtMs: number | undefined;
  /** The newest position that is known and, with an export, the newest that is exported. */
  readonly position: number;
  readonly exportedPosition: number | undefined;
  /** How often the database was found to be restored to an earlier moment. */
  readonly setBacks: number;
}
