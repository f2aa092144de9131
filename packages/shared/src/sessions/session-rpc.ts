import type { ProofMethod } from "@edge-op/protocol/oauth/authentication-context";
import type { EventOrigin } from "../audit/audit-event.ts";
import type { GrantFamily, GrantRevocation } from "../grants/grant-revocation.ts";
import type { FactsRpc } from "../secrets/deployment-facts.ts";
import type { ShardAddress } from "../storage/shard-address.ts";

/** **A proof**: who was shown to be present, how and when. `acr`, `amr` and `auth_time` are computed from proofs (authentication-context.ts). */
export interface Proof {
  readonly method: ProofMethod;
  readonly sub: string;
  readonly atMs: number;
  /** The id of the credential, if its method has several. */
  readonly credential?: string | undefined;
  /** The control version that was confirmed before the credential was read: a later change of it voids the proof (ADR 28). */
  readonly controlVersion: number;
  /** Of a connection: the organisation for which alone it counts (usable-proofs.ts). */
  readonly organization?: string | undefined;
  /** Of a provider that may end the session. */
  readonly upstream?: UpstreamStatement | undefined;
}

/** **What an upstream provider has stated about a person**, by keys under which it may end it (upstream-statements.ts). */
export interface UpstreamStatement {
  /** Of the provider's session; without a `sid`, of its sessions of this person that have none. */
  readonly session: string;
  readonly subject: string;
  /** `iat` of the ID token, in seconds of the provider's clock. */
  readonly issuedAt: number;
  /** The number of the newest message of providers, when the person left for this one. */
  readonly asOf: number;
}

export interface Session {
  readonly sub: string;
  /** The newest of each method and, of connections, of each organisation. Read by usable-proofs.ts alone. */
  readonly proofs: readonly Proof[];
  readonly sid: string;
  /** When the browser got its present session id. */
  readonly signedInAtMs: number;
  /** The absolute end, regardless of use. */
  readonly endsAtMs: number;
}

export interface NewSession extends Session {
  /** Hash of the cookie's secret. */
  readonly key: string;
  /** The session ends earlier if it is not used for this long. */
  readonly idleMs: number;
}

/** A client that was given a code in this session. */
export interface SessionClient {
  readonly clientId: string;
  /** The subject that this client sees: pairwise or public. */
  readonly subject: string;
  /** The access that the user has consented to, `claim:<name>` for single claims. A request that it covers needs no read from D1. */
  readonly consented: readonly string[];
  /** When the client was registered, so that a later client with the same id inherits nothing. */
  readonly registeredAtMs: number | undefined;
}

/** A grant that ends with the session: every grant without `offline_access` (OIDC Back-Channel Logout §2.7). */
export interface SessionGrant {
  readonly grantId: string;
  /** Its revocation shard. */
  readonly address: ShardAddress;
  /** When all of its tokens have expired. */
  readonly untilMs: number;
  /** Present for a grant with refresh tokens. */
  readonly family?: GrantFamily | undefined;
}

/** The flow that opens a session. A flow opens one. */
export interface SessionFlow {
  readonly fid: string;
  /** When nothing can present the flow any more. */
  readonly untilMs: number;
}

/** A client that is about to get a code, and its grant. */
export interface SessionAdmission {
  readonly client: SessionClient;
  readonly grant: SessionGrant | undefined;
  /** The last dismissal in the session, as read before the consent was; 0 in a new session. Absent from the previous release's calls. */
  readonly dismissal?: number | undefined;
}

/** A session to be opened, and what belongs to it, in one transaction. */
export interface Opening {
  readonly session: NewSession;
  /** Hash of the secret of the same user's session in this browser: the new one takes over its `sid` and its clients. */
  readonly replaces?: string | undefined;
  readonly flow?: SessionFlow | undefined;
  readonly admitted?: SessionAdmission | undefined;
}

/**
 * `spent`: the flow has opened a session. `gone`: the session to be replaced has ended, this one was ended before it was opened, or a client was
 * dismissed meanwhile.
 */
export type OpenResult = "opened" | "spent" | "gone";

export interface SessionUse {
  readonly session: Session;
  /** `undefined` if the client has not been given a code in this session yet, in which case the grant was not recorded. */
  readonly client: SessionClient | undefined;
  readonly dismissal?: number | undefined;
}

export interface SessionContents {
  readonly session: Session;
  readonly clients: readonly SessionClient[];
  /** Names the last dismissal of a client in the session; 0 if there was none in the last minutes. The previous release's object returns none. */
  readonly dismissal?: number | undefined;
}

/**
 * A session that has ended. `due` contains the first of its grants whose revocation no shard has acknowledged yet. The object's alarm sends them
 * until each is acknowledged; a caller that must not respond before that revokes them itself.
 */
export interface EndedSession extends SessionContents {
  readonly due: readonly GrantRevocation[];
}

/** A bucket of attempts that drains at a constant rate: the next place is free after at most `drainMs`. */
export interface AttemptLimit {
  readonly capacity: number;
  readonly drainMs: number;
}

/** Buckets of one object. An attempt takes a place in each of them. */
export type AttemptLane = readonly { readonly key: string; readonly limit: AttemptLimit }[];

/** A failed sign-in, for the audit. Never contains the input, which may be a password. */
export interface RefusedSignIn extends EventOrigin {
  readonly method: "password" | "passkey" | "code" | "upstream";
  /** The account whose name was typed, if it exists. */
  readonly sub: string | undefined;
  /** The reason, or the bucket that was full. */
  readonly reason: string;
}

export type AttemptResult =
  | { readonly kind: "allowed"; readonly lane: AttemptLane }
  | { readonly kind: "refused"; readonly retryAfterMs: number };

/**
 * **The RPC interface of a `SessionStore` shard**: the sessions of users in their browsers, the clients that used each, and the buckets that limit
 * sign-in attempts. A session is found by the hash of its cookie's secret, so a stored row does not open it; `sid` is its public name, which clients
 * receive. Times are epoch milliseconds.
 */
export interface SessionStoreRpc extends FactsRpc {
  /** Opens a session and spends its flow, or changes nothing. Idempotent by key. */
  open(opening: Opening, origin?: EventOrigin): Promise<OpenResult>;
  /** Counts as a use. Records the grant if the client is known here. A silent sign-in needs only this call. */
  use(key: string, clientId: string, grant: SessionGrant | undefined): Promise<SessionUse | undefined>;
  /**
   * A client is about to get a code and will be notified when the session ends. Returns false if the session has ended, or if a client was dismissed
   * after `dismissal` was read: the consent may be one that was withdrawn meanwhile.
   */
  admit(key: string, client: SessionClient, grant: SessionGrant | undefined, dismissal?: number): Promise<boolean>;
  read(key: string): Promise<SessionContents | undefined>;
  /**
   * Ends a session, also one that has expired and was not swept yet. The object's alarm sends logout tokens to its clients and revokes its grants,
   * until each has been acknowledged. A repeated call changes nothing and returns the remaining work. A `sid` without a session cannot be opened for
   * some minutes: the call that opens it may be under way.
   */
  end(
    by: { readonly key: string } | { readonly sid: string },
    reason: string,
    origin?: EventOrigin,
  ): Promise<EndedSession | undefined>;
  /**
   * The user has withdrawn a consent: the client is notified that its session has ended, and its grants here are revoked. Returns the first grants
   * that are due, also for a session that has ended and for a repeated call. What was decided before it admits no client afterwards, also where the
   * session is not known yet.
   */
  dismissClient(
    sid: string,
    clientId: string,
    reason: string,
    origin?: EventOrigin,
  ): Promise<readonly GrantRevocation[]>;
  /** The revocation of these grants is confirmed everywhere. Returns the next grants that are due for the session or its client. */
  acknowledgeRevoked(
    sid: string,
    clientId: string | undefined,
    grantIds: readonly string[],
  ): Promise<readonly GrantRevocation[]>;
  /** Takes a place in the first lane that has room before the attempt, so that concurrent guesses cannot all pass. */
  reserveAttempt(lanes: readonly AttemptLane[]): Promise<AttemptResult>;
  /** The attempt succeeded, so its places are returned. */
  refundAttempt(lane: AttemptLane): Promise<void>;
  /** There were too many attempts, which is recorded for the audit, at most once a minute per `key`. */
  recordThrottledSignIn(key: string, throttled: RefusedSignIn): Promise<void>;
  /** The attempt failed, so it is recorded for the audit. */
  recordFailedSignIn(failed: RefusedSignIn): Promise<void>;
}
