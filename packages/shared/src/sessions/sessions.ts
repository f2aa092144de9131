import { encodeBase64Url, randomBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { type EventOrigin, originOf } from "../audit/audit-event.ts";
import { formatVersion, parseVersion } from "../grants/grant.ts";
import type { GrantRevocation } from "../grants/grant-revocation.ts";
import type { RequestContext } from "../http/request-context.ts";
import { callObject, shardStub } from "../storage/call-object.ts";
import type { StorageBindings } from "../storage/read-through.ts";
import { formatOpaqueId, parseOpaqueId, type ShardAddress } from "../storage/shard-address.ts";
import type { ShardMap } from "../storage/shard-map.ts";
import type {
  EndedSession,
  Opening,
  OpenResult,
  Proof,
  Session,
  SessionAdmission,
  SessionContents,
  SessionGrant,
  SessionStoreRpc,
  SessionUse,
} from "./session-rpc.ts";
import { joinProofs } from "./usable-proofs.ts";

export interface SessionBindings extends StorageBindings {
  readonly SESSION_STORE: DurableObjectNamespace<SessionStoreRpc>;
}

export interface SessionLifetime {
  readonly idleMs: number;
  readonly absoluteMs: number;
}

/** Verified proofs of one user. `version` is the control version that was confirmed before the oldest of their credentials was read. */
export interface SignIn {
  readonly sub: string;
  readonly proofs: readonly Proof[];
  readonly version: number;
  /** The latest end of the session: what a connection says does not prolong what the person has proven elsewhere. */
  readonly endsAtMs?: number | undefined;
}

/** A session before it is opened. */
export interface PreparedSession {
  /** The cookie's value. Every sign-in creates a new one, which prevents session fixation. */
  readonly id: string;
  readonly session: Session;
  /** Proofs of the session before it that do not count for this request (usable-proofs.ts). They are stored, and nothing is decided by them. */
  readonly withheld: readonly Proof[];
  /** The id of the same user's session, whose `sid` this one takes over. */
  readonly replaces: string | undefined;
}

interface Located {
  readonly stub: DurableObjectStub<SessionStoreRpc>;
  readonly address: ShardAddress;
  readonly key: string;
}

/**
 * **Sessions**, found by the id in a cookie: `ss.g{gen}.{region}.{shard}.{secret}`. The object stores only the hash of the secret. The secret ends
 * with the control version that was confirmed before the user's credentials were verified (ADR 28). `sid` is `g{gen}.{region}.{shard}.{random}`; it
 * is public and used to end the session. Cost: 1 object call each.
 */
export class Sessions {
  readonly #shardMap: ShardMap;

  constructor(shardMap: ShardMap) {
    this.#shardMap = shardMap;
  }

  /**
   * The shard of the sessions that a flow may open: that of the browser's session, so that one call can replace it, else one by the flow's id.
   * Sessions of an older generation are opened anew instead, so that the generation drains.
   */
  async shardOf(
    context: RequestContext<SessionBindings>,
    sessionId: string | undefined,
    fid: string,
  ): Promise<ShardAddress> {
    const placed = await this.#shardMap.place(context, "session", fid);
    const held = sessionId === undefined ? undefined : parseOpaqueId("ss", sessionId)?.address;
    if (held === undefined || held.generation !== placed.generation) return placed;
    return (await this.#shardMap.locateUnverified(context, "session", held)) === undefined ? placed : held;
  }

  /** A new id; and the `sid` of `replaced`, if that session is of the same user and in the same shard. Cost: 0. */
  async prepare(
    context: RequestContext<SessionBindings>,
    signIn: SignIn,
    lifetime: SessionLifetime,
    {
      shard,
      replaced,
    }: {
      readonly shard?: ShardAddress | undefined;
      readonly replaced?:
        | { readonly id: string; readonly session: Session; readonly withheld?: readonly Proof[] | undefined }
        | undefined;
    } = {},
  ): Promise<PreparedSession> {
    const secret = newSecret(signIn);
    const address = shard ?? (await this.shardOf(context, replaced?.id, secret));
    const old = replaced && parseOpaqueId("ss", replaced.id);
    const isReplaced = old !== undefined && isSameShard(old.address, address) && replaced?.session.sub === signIn.sub;
    const sid = isReplaced && replaced ? replaced.session.sid : toSid(address, randomBase64Url(16));
    const session = newSession(context, signIn, lifetime, sid);
    const withheld = replaced?.session.sub === signIn.sub ? (replaced.withheld ?? []) : [];
    const replaces = isReplaced ? replaced?.id : undefined;
    return { id: formatOpaqueId("ss", address, secret), session, withheld, replaces };
  }

  /** Opens a prepared session. */
  async open(
    context: RequestContext<SessionBindings>,
    { id, session, withheld, replaces }: PreparedSession,
    { idleMs }: SessionLifetime,
    {
      clientId,
      from,
      flow,
      admitted,
    }: Pick<Opening, "flow" | "admitted"> & {
      /** The browser and place of the sign-in, for the audit. */
      readonly from?: Pick<EventOrigin, "device" | "city" | "country">;
      /** The client that the person signs in for, for the audit. */
      readonly clientId?: string | undefined;
    } = {},
  ): Promise<OpenResult> {
    const at = await this.#locate(context, id);
    if (at === undefined) throw new UnavailableError("session", new Error("placed outside the generation table"));
    const old = replaces === undefined ? undefined : parseOpaqueId("ss", replaces);
    const opening: Opening = {
      session: { ...session, proofs: storedProofs({ session, withheld }), key: at.key, idleMs },
      replaces: old && (await hash(old.random)),
      flow,
      admitted,
    };
    return callObject("session", () => at.stub.open(opening, { ...originOf(context, clientId), ...from }));
  }

  async use(
    context: RequestContext<SessionBindings>,
    id: string,
    clientId: string,
    grant: SessionGrant | undefined,
  ): Promise<SessionUse | undefined> {
    const at = await this.#locate(context, id);
    return at && callObject("session", () => at.stub.use(at.key, clientId, grant));
  }

  async admit(
    context: RequestContext<SessionBindings>,
    id: string,
    { client, grant, dismissal }: SessionAdmission,
  ): Promise<boolean> {
    const at = await this.#locate(context, id);
    return at !== undefined && callObject("session", () => at.stub.admit(at.key, client, grant, dismissal));
  }

  async read(context: RequestContext<SessionBindings>, id: string): Promise<SessionContents | undefined> {
    const at = await this.#locate(context, id);
    return at && callObject("session", () => at.stub.read(at.key));
  }

  /** The caller revokes the grants that are `due`; the object's alarm does so if the caller is lost. */
  async end(context: RequestContext<SessionBindings>, id: string, reason: string): Promise<EndedSession | undefined> {
    const at = await this.#locate(context, id);
    return at && callObject("session", async () => at.stub.end({ key: at.key }, reason, originOf(context)));
  }

  async endBySid(
    context: RequestContext<SessionBindings>,
    sid: string,
    reason: string,
  ): Promise<EndedSession | undefined> {
    const stub = await this.#stubOfSid(context, sid);
    return stub && callObject("session", async () => stub.end({ sid }, reason, originOf(context)));
  }

  async dismissClient(
    context: RequestContext<SessionBindings>,
    sid: string,
    clientId: string,
    reason: string,
  ): Promise<readonly GrantRevocation[]> {
    const stub = await this.#stubOfSid(context, sid);
    if (stub === undefined) return [];
    const dismiss = async () => stub.dismissClient(sid, clientId, reason, originOf(context));
    return callObject<readonly GrantRevocation[]>("session", dismiss);
  }

  /** Returns the next grants that are due for the session or its client. */
  async acknowledgeRevoked(
    context: RequestContext<SessionBindings>,
    sid: string,
    clientId: string | undefined,
    revoked: readonly GrantRevocation[],
  ): Promise<readonly GrantRevocation[]> {
    const stub = await this.#stubOfSid(context, sid);
    if (stub === undefined) return [];
    const grantIds = revoked.map(({ grant }) => grant.grantId);
    const acknowledge = async () => stub.acknowledgeRevoked(sid, clientId, grantIds);
    return callObject<readonly GrantRevocation[]>("session", acknowledge);
  }

  async #locate(context: RequestContext<SessionBindings>, id: string): Promise<Located | undefined> {
    const parsed = parseOpaqueId("ss", id);
    if (parsed === undefined) return undefined;
    const stub = await this.#stub(context, parsed.address);
    return stub && { stub, address: parsed.address, key: await hash(parsed.random) };
  }

  async #stubOfSid(context: RequestContext<SessionBindings>, sid: string) {
    const parsed = parseOpaqueId("ss", `ss.${sid}`);
    return parsed && this.#stub(context, parsed.address);
  }

  /** `undefined` for an address outside the generation table: no object is created for it (G1). */
  async #stub(context: RequestContext<SessionBindings>, address: ShardAddress) {
    const region = await this.#shardMap.locateUnverified(context, "session", address);
    return region && shardStub(context.settings, context.env.SESSION_STORE, "session", address, region);
  }
}

/** What is stored of a session: also what does not count for the request that opens it. */
export function storedProofs({ session, withheld }: Pick<PreparedSession, "session" | "withheld">): readonly Proof[] {
  return joinProofs(withheld, session.proofs);
}

const secretBytes = 32;
const secretCharacters = 43;

function newSecret({ version }: SignIn): string {
  return randomBase64Url(secretBytes) + formatVersion(version);
}

/** A changed version makes it another secret, which opens nothing. */
export function sessionVersion(id: string): number {
  return parseVersion(parseOpaqueId("ss", id)?.random.slice(secretCharacters) ?? "");
}

function newSession(
  context: RequestContext<unknown>,
  { sub, proofs, endsAtMs: latestMs = Number.POSITIVE_INFINITY }: SignIn,
  { absoluteMs }: SessionLifetime,
  sid: string,
): Session {
  const { arrivedAtMs } = context;
  return { sub, proofs, sid, signedInAtMs: arrivedAtMs, endsAtMs: Math.min(arrivedAtMs + absoluteMs, latestMs) };
}

function isSameShard(left: ShardAddress, right: ShardAddress): boolean {
  return left.generation === right.generation && left.region === right.region && left.shard === right.shard;
}

function toSid(address: ShardAddress, random: string): string {
  return formatOpaqueId("ss", address, random).slice("ss.".length);
}

async function hash(text: string): Promise<string> {
  return encodeBase64Url(await sha256(text));
}
