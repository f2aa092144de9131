import type { EventOrigin } from "../audit/event-origin.ts";
import type { FactsRpc } from "../config/deployment-facts.ts";
import type { GrantFamily, GrantRevocation } from "../leases/grant-revocation.ts";
import type { ShardAddress } from "../storage/shard-address.ts";

/** The result of a sign-in: the user and the methods. Its members become columns of the session (session-row.ts). */
export interface Authentication {
  readonly sub: string;
  readonly acr: string;
  readonly amr: readonly string[];
}

export interface Session extends Authentication {
  readonly sid: string;
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

export interface SessionUse {
  readonly session: Session;
  /** `undefined` if the client has not been given a code in this session yet, in which case the grant was not recorded. */
  readonly client: SessionClient | undefined;
}

export interface SessionContents {
  readonly session: Session;
  readonly clients: readonly SessionClient[];
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
  readonly method: "password" | "passkey";
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
  /** Idempotent by key. */
  open(session: NewSession, origin?: EventOrigin): Promise<void>;
  /** The same user signed in again: a new key and times, the same `sid` and clients. False if the old session has ended. */
  renew(oldKey: string, session: NewSession, origin?: EventOrigin): Promise<boolean>;
  /** Counts as a use. Records the grant if the client is known here. A silent sign-in needs only this call. */
  use(key: string, clientId: string, grant: SessionGrant | undefined): Promise<SessionUse | undefined>;
  /** A client is about to get a code and will be notified when the session ends. Returns false if the session has ended. */
  admit(key: string, client: SessionClient, grant: SessionGrant | undefined): Promise<boolean>;
  read(key: string): Promise<SessionContents | undefined>;
  /**
   * Ends a session, also one that has expired and was not swept yet. The object's alarm sends logout tokens to its clients and revokes its grants,
   * until each has been acknowledged. A repeated call changes nothing and returns the remaining work.
   */
  end(
    by: { readonly key: string } | { readonly sid: string },
    reason: string,
    origin?: EventOrigin,
  ): Promise<EndedSession | undefined>;
  /**
   * The user has withdrawn a consent: the client is notified that its session has ended, and its grants here are revoked. Returns the first grants
   * that are due, also for a session that has ended and for a repeated call.
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
  /**
   * Takes a place in the first lane that has room before the attempt, so that concurrent guesses cannot all pass. A refusal is recorded for
   * the audit as `throttled`, at most once a minute per `key`.
   */
  reserveAttempt(key: string, lanes: readonly AttemptLane[], throttled?: RefusedSignIn): Promise<AttemptResult>;
  /** The attempt succeeded, so its places are returned. */
  refundAttempt(lane: AttemptLane): Promise<void>;
  /** The attempt failed, so it is recorded for the audit. */
  recordFailedSignIn(failed: RefusedSignIn): Promise<void>;
}
