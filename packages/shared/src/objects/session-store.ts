import type { ShardAddress } from "../sharding/shard-address.ts";
import type { FactsRpc } from "./facts-object.ts";
import type { GrantFamily, GrantRevocation } from "./grant-revocation.ts";

/** The result of a sign-in: who signed in, and how. Its members become columns of the session (session-row.ts). */
export interface Authentication {
  readonly sub: string;
  readonly acr: string;
  readonly amr: readonly string[];
}

/**
 * **The RPC interface of a `SessionStore` shard**: the sessions of users in their browsers, the clients that used each, and the
 * buckets that limit sign-in attempts. A session is found by the hash of its cookie's secret, so a stored row does not open it;
 * `sid` is its public name, which clients learn. Times are epoch milliseconds.
 */
export interface Session extends Authentication {
  readonly sid: string;
  readonly signedInAtMs: number;
  /** The absolute end, regardless of use. */
  readonly endsAtMs: number;
}

export interface NewSession extends Session {
  /** Hash of the cookie's secret. */
  readonly key: string;
  /** It ends earlier when it is not used for this long. */
  readonly idleMs: number;
}

/** A client that was given a code in this session. */
export interface SessionClient {
  readonly clientId: string;
  /** The subject that this client knows: pairwise or public. */
  readonly subject: string;
  /** What the user has consented to, `claim:<name>` for single claims: a request that it covers needs no read of D1. */
  readonly consented: readonly string[];
  /** When the client was registered: a later client of the same id inherits nothing. */
  readonly registeredAtMs: number | undefined;
}

/** A grant that ends with the session: every one without `offline_access` (OIDC Back-Channel Logout §2.7). */
export interface SessionGrant {
  readonly grantId: string;
  /** Its revocation shard. */
  readonly address: ShardAddress;
  /** When no token of it can be alive. */
  readonly untilMs: number;
  /** Of a grant with refresh tokens. */
  readonly family?: GrantFamily | undefined;
}

export interface SessionUse {
  readonly session: Session;
  /** `undefined`: the client has not been given a code in this session yet, and the grant was not recorded. */
  readonly client: SessionClient | undefined;
}

export interface SessionContents {
  readonly session: Session;
  readonly clients: readonly SessionClient[];
}

/**
 * A session that has ended. `due`: the first of its grants whose revocation no shard has acknowledged yet; the object's alarm sends them until
 * each has, but a caller that must not respond before revokes them itself.
 */
export interface EndedSession extends SessionContents {
  readonly due: readonly GrantRevocation[];
}

/** A bucket of attempts that drains at a constant rate: the next place is free after `drainMs` at most. */
export interface AttemptLimit {
  readonly capacity: number;
  readonly drainMs: number;
}

/** Buckets of one object, in each of which an attempt takes a place. */
export type AttemptLane = readonly { readonly key: string; readonly limit: AttemptLimit }[];

/** The request that causes a change, for the audit. */
export interface EventOrigin {
  /** The sender's network. */
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
  /** The client that the sign-in is for. */
  readonly clientId?: string | undefined;
}

/** A failed sign-in, for the audit. Never contains the input, which may be a password. */
export interface RefusedSignIn extends EventOrigin {
  readonly method: "password" | "passkey";
  /** The account that was named, if it exists. */
  readonly sub: string | undefined;
  /** The reason, or the bucket that was full. */
  readonly reason: string;
}

export type AttemptResult =
  | { readonly kind: "allowed"; readonly lane: AttemptLane }
  | { readonly kind: "refused"; readonly retryAfterMs: number };

export interface SessionStoreRpc extends FactsRpc {
  /** Idempotent by key. */
  open(session: NewSession, origin?: EventOrigin): Promise<void>;
  /** The same user signed in again: a new key and times, the same `sid` and clients. False if the old session has ended. */
  renew(oldKey: string, session: NewSession, origin?: EventOrigin): Promise<boolean>;
  /** Counts as a use. Records the grant if the client is known here. A silent sign-in needs this call alone. */
  use(key: string, clientId: string, grant: SessionGrant | undefined): Promise<SessionUse | undefined>;
  /** A client is about to get a code: it will be notified when the session ends. False if the session has ended. */
  admit(key: string, client: SessionClient, grant: SessionGrant | undefined): Promise<boolean>;
  read(key: string): Promise<SessionContents | undefined>;
  /**
   * Ends a session, also one that has expired and was not swept yet; its clients are sent logout tokens and its grants are revoked by
   * the object's alarm, until each has acknowledged. A repetition changes nothing, and finds what is still due.
   */
  end(
    by: { readonly key: string } | { readonly sid: string },
    reason: string,
    origin?: EventOrigin,
  ): Promise<EndedSession | undefined>;
  /**
   * The user has withdrawn a consent: the client is notified that its session has ended, and its grants here are revoked. Returns the first
   * that are due, also of a session that has ended, in a repetition as well.
   */
  dismissClient(
    sid: string,
    clientId: string,
    reason: string,
    origin?: EventOrigin,
  ): Promise<readonly GrantRevocation[]>;
  /** These grants are revoked everywhere. Returns the next that are due of the session, or of its client. */
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
  /** The attempt succeeded: its places are returned. */
  refundAttempt(lane: AttemptLane): Promise<void>;
  /** The attempt failed: recorded for the audit. */
  recordFailedSignIn(failed: RefusedSignIn): Promise<void>;
}
