import type { ClientDirectory } from "../clients/client-directory.ts";
import { limits } from "../config/limits.ts";
import { type ReadsBegun, readsBegun } from "../control/settle.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { KeyScheduleBindings } from "../keys/held-schedule.ts";
import type { KeyRing } from "../keys/key-ring.ts";
import type { ResourceDirectory } from "../resources/resource-directory.ts";
import type { ShardMap } from "../storage/shard-map.ts";
import type { NamedUser, UserDirectory } from "../users/user-directory.ts";
import type { RateLimitBindings, RateShield } from "./rate-limit.ts";

/** Names of records in the text of a request. Nothing has verified them, except where it says so. */
export interface ReadAheadNames {
  readonly clientIds?: readonly (string | undefined)[];
  readonly resources?: readonly string[];
  readonly users?: readonly NamedUser[];
}

type Names = readonly (ReadAheadNames | Promise<ReadAheadNames>)[];

interface ReadingIsolate {
  readonly control: { readonly version: number | undefined };
  readonly shardMap: ShardMap;
  /** Absent if the request needs no key of this provider. */
  readonly keyRing?: KeyRing;
  readonly clients: ClientDirectory;
  readonly users: UserDirectory;
  readonly resources?: ResourceDirectory;
  readonly rateShield?: RateShield;
}

/**
 * **Reads the copies in KV that a request may need, all at once, in an isolate that knows no control version** (ADR 12): the generation table, the
 * key schedule, and the records that its text names. The decision finds them in memory, and judges them with the response of the shard that it calls
 * anyway. The generation table and the schedule are read in D1 if KV has no copy. Unverified text causes at most {@link limits.readAhead} reads of
 * KV, and none of D1 or an object; none for an address whose limit is spent, and none in an isolate that knows a version, where `findNames` is not
 * called. A read that fails is a miss.
 */
export function readAhead(
  context: RequestContext<KeyScheduleBindings & RateLimitBindings>,
  { control, shardMap, keyRing, clients, users, resources, rateShield }: ReadingIsolate,
  request: Pick<Request, "headers"> | undefined,
  findNames: () => Names = () => [],
): ReadsBegun {
  if (control.version !== undefined) return readsBegun;
  void shardMap.readAhead(context);
  void keyRing?.readAhead(context);
  if (request !== undefined && rateShield?.isSpent(context, request) === true) return readsBegun;
  let left: number = limits.readAhead;
  const read = (names: ReadAheadNames) => {
    const reads = [
      ...(names.clientIds ?? []).map((id) => () => id && clients.readAhead(context, id)),
      ...(names.users ?? []).map((user) => () => users.readAhead(context, user)),
      ...(names.resources ?? []).map((id) => () => resources?.readAhead(context, id)),
    ].slice(0, left);
    left -= reads.length;
    for (const start of reads) void start();
  };
  for (const names of findNames()) {
    if (names instanceof Promise) void names.then(read, () => {});
    else read(names);
  }
  return readsBegun;
}
