import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { originOf } from "../audit/event-origin.ts";
import type { RequestContext } from "../http/request-context.ts";
import { callObject, shardStub } from "../storage/call-object.ts";
import type { ShardMap } from "../storage/shard-map.ts";
import type { Lane, LaneBucket } from "./attempt-limits.ts";
import type { AttemptLane, AttemptResult, RefusedSignIn } from "./session-rpc.ts";
import type { SessionBindings } from "./sessions.ts";

/**
 * **Attempts that are counted before they are made** (attempt-limits.ts), of sign-ins and of what else must stay rare, each in the session shard of its subject. Cost: 1 object
 * call each.
 */
export class Attempts {
  readonly #shardMap: ShardMap;

  constructor(shardMap: ShardMap) {
    this.#shardMap = shardMap;
  }

  async reserve(
    context: RequestContext<SessionBindings>,
    subject: string,
    lanes: readonly Lane[],
  ): Promise<AttemptResult> {
    const { stub } = await this.#bucket(context, subject);
    const keyed = await Promise.all(
      lanes.map((lane) => Promise.all(lane.map((bucket) => keyedBucket(subject, bucket)))),
    );
    return callObject<AttemptResult>("session", async () => await stub.reserveAttempt(keyed));
  }

  /** Called on the shard of the bucket that limits how often it can be called. */
  async recordFailed(context: RequestContext<SessionBindings>, subject: string, failed: RefusedSignIn): Promise<void> {
    const { stub } = await this.#bucket(context, subject);
    await callObject("session", () => stub.recordFailedSignIn({ ...originOf(context), ...failed }));
  }

  async recordThrottled(
    context: RequestContext<SessionBindings>,
    subject: string,
    throttled: RefusedSignIn,
  ): Promise<void> {
    const { stub, key } = await this.#bucket(context, subject);
    await callObject("session", () => stub.recordThrottledSignIn(key, { ...originOf(context), ...throttled }));
  }

  /** `lane` is the one that allowed the attempt. */
  async refund(context: RequestContext<SessionBindings>, subject: string, lane: AttemptLane): Promise<void> {
    const { stub } = await this.#bucket(context, subject);
    await callObject("session", () => stub.refundAttempt(lane));
  }

  /** A hash, because users sometimes type their password into the username field. */
  async #bucket(context: RequestContext<SessionBindings>, subject: string) {
    const key = await hash(subject);
    const address = await this.#shardMap.place(context, "session", key);
    const region = await this.#shardMap.locateUnverified(context, "session", address);
    if (region === undefined) throw new UnavailableError("session", new Error("placed outside the generation table"));
    return { stub: shardStub(context.settings, context.env.SESSION_STORE, "session", address, region), key };
  }
}

/** Also a hash, because parts may contain addresses. */
async function keyedBucket(subject: string, { part, limit }: LaneBucket): Promise<AttemptLane[number]> {
  return { key: await hash(part === "" ? subject : `${subject}\n${part}`), limit };
}

async function hash(text: string): Promise<string> {
  return encodeBase64Url(await sha256(text));
}
