/**
 * **Limits of attempts at a credential.** An attempt takes a place in every bucket of one lane: the first lane that has room. For passwords, an
 * address that has failed at the account fewer than three times has a lane of its own, which others can exhaust only with 240 addresses. Addresses
 * that have failed more often share a lane, which is ten times slower after a hundred failures. NIST allows a hundred failures and would then disable
 * the password, which would lock out its owner. A name, of which an account has one and
 * one for each verified address, can receive at most 2,548 guesses on the first day, and 1,728 on each further day.
 *
 * @see https://pages.nist.gov/800-63-4/sp800-63b.html#throttle
 */

import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { originOf } from "../audit/audit-event.ts";
import type { RequestContext } from "../http/request-context.ts";
import { callObject, shardStub } from "../storage/call-object.ts";
import type { ShardMap } from "../storage/shard-map.ts";
import type { AttemptLane, AttemptLimit, AttemptResult, RefusedSignIn } from "./session-rpc.ts";
import type { SessionBindings } from "./sessions.ts";

interface LaneBucket {
  /** Distinguishes the buckets of one subject. */
  readonly part: string;
  readonly limit: AttemptLimit;
}

export type Lane = readonly LaneBucket[];

const hour = 3_600_000;

/** Ten, then one every 30 seconds; after a hundred, one every five minutes. A known browser has such a lane to itself. */
export const sharedLane: Lane = [
  { part: "", limit: { capacity: 10, drainMs: 30_000 } },
  { part: "sustained", limit: { capacity: 100, drainMs: hour / 12 } },
];

/** Three attempts, then one every four hours, within the limit for all addresses together. */
function ownLane(address: string): Lane {
  return [
    { part: `from ${address}`, limit: { capacity: 3, drainMs: 4 * hour } },
    { part: "of all addresses", limit: { capacity: 720, drainMs: 60_000 } },
  ];
}

export function passwordLanes(address: string | undefined): readonly Lane[] {
  return address === undefined ? [sharedLane] : [ownLane(address), sharedLane];
}

/** A lane with a single bucket. */
export function laneOf(limit: AttemptLimit): readonly Lane[] {
  return [[{ part: "", limit }]];
}

/**
 * **Attempts that are counted before they are made**, of sign-ins and of what else must stay rare, each in the session shard of its subject. Cost: 1
 * object call each.
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
