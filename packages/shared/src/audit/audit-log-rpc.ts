/**
 * **The RPC methods by which `ControlPlane` keeps the audit log** (ADR 35) and the recent refusals (ADR 57): it copies the rows of `admin_events`
 * into the chain, seals old events and applies the retention. Nothing that a request decides depends on them.
 */
export interface AuditLogRpc extends Rpc.DurableObjectBranded {
  /** There may be rows to copy: the next alarm is due now. Without this call, rows are copied a few minutes later. */
  wakeAudit(): Promise<void>;
  /** Records issued tokens and refusals, within the deployment's limits. Best effort: the caller does not repeat a failed call. */
  report(report: RequestReport): Promise<ReportResult>;
  /** Recent refusals, newest first. */
  refusals(query: RefusalQuery): Promise<readonly StoredRefusal[]>;
  auditStatus(): Promise<AuditLogStatus>;
}

/** The tokens and refusals that an isolate has noted since its last report. */
export interface RequestReport {
  readonly tokens: readonly IssuedToken[];
  /** The number of those that are not contained. */
  readonly omittedTokens: number;
  readonly refusals: readonly ReportedRefusal[];
  readonly omittedRefusals: number;
}

export interface ReportResult {
  /** The isolate waits this long before it sends its next report. */
  readonly pauseMs: number;
}

/** Parameters of a request by name. Authentication methods are `token_endpoint_auth_method`. */
export type SentParameters = Readonly<Record<string, readonly string[]>>;

/** A refused request; never a secret, a token, a code or a password. */
export interface ReportedRefusal {
  readonly atMs: number;
  readonly requestId: string;
  readonly endpoint: string | undefined;
  readonly method: string | undefined;
  /** The client that authenticated or was verified, or else the one that the request names. */
  readonly clientId: string | undefined;
  readonly isAuthenticated: boolean;
  /** Whether the client exists, as far as the request was decided. */
  readonly isKnownClient: boolean;
  readonly code: string;
  readonly reason: string;
  readonly detail: string;
  readonly sent: SentParameters;
}

export interface StoredRefusal extends ReportedRefusal {
  /** Numbers rise with the time of the report. */
  readonly id: number;
  /** Refusals of the deployment that were not recorded since the one before. */
  readonly omittedBefore: number;
}

export interface RefusalQuery {
  readonly requestId?: string | undefined;
  readonly clientId?: string | undefined;
  /** Only those with a lower number. */
  readonly before?: number | undefined;
  readonly limit: number;
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
  /** The newest known position. */
  readonly position: number;
  /** How often the database was found to be restored to an earlier moment. */
  readonly setBacks: number;
}
