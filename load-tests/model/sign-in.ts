/**
 * **The cost of a sign-in, a further code and a refresh, and the sustainable rate of a deployment.** The figures of one operation are measured
 * (reports/stores); they do not depend on the rate or on the number of shards.
 */

import { platform } from "./platform.ts";

export const signInWork = {
  /** Requests of one sign-in: authorize, the page, its form, back to authorize, token. */
  requests: 5,
  /** Object calls of one sign-in by store; the last one only for `offline_access`. */
  calls: { session: 5, challenge: 4, code: 2, refresh: 1 },
  objectCalls: 12,
  /** CPU of the endpoint Workers without the password, and of its hash: scrypt, N = 2^14, r = 8, p = 5. */
  workerCpuMs: 15,
  passwordCpuMs: 219,
  /** Includes the rows of the later deletion of its code and challenges. */
  rowsWritten: 27,
  /** Run one at a time in one database; 4 if consent is requested. */
  d1Queries: 3,
} as const;

/** A further application of a user who is signed in: `prompt=none` and its code. */
export const codeWork = {
  requests: 2,
  calls: { session: 1, code: 2 },
  workerCpuMs: 6,
  rowsWritten: 10,
  d1Queries: 0,
} as const;

/** One rotation; fewer calls if several wait for one shard. */
export const refreshWork = { calls: { refresh: 1 }, workerCpuMs: 2.5, rowsWritten: 1, d1Queries: 0 } as const;

export interface SignInLoad {
  /** Calls per second at one session shard, the busiest of the stores. */
  readonly callsPerSessionShard: number;
  readonly callsPerCodeShard: number;
  /** Share of the time of the one database. */
  readonly database: number;
  /** Dedicated isolates of op-auth, without and with passwords; each has one thread. */
  readonly isolatesWithoutPasswords: number;
  readonly isolatesWithPasswords: number;
  readonly limitedBy: string;
}

const plannedLoad = 0.5;

export function signInLoad(perSecond: number, shards: number): SignInLoad {
  const callsPerSessionShard = (perSecond * signInWork.calls.session) / shards;
  const callsPerCodeShard = (perSecond * signInWork.calls.code) / shards;
  const database = (perSecond * signInWork.d1Queries * platform.d1QueryMs) / 1000;
  const limits = [
    { name: "session shards", use: callsPerSessionShard / (platform.objectCallsPerSecond * plannedLoad) },
    { name: "D1", use: database / plannedLoad },
  ];
  const busiest = limits.reduce((most, each) => (each.use > most.use ? each : most));
  return {
    callsPerSessionShard,
    callsPerCodeShard,
    database,
    isolatesWithoutPasswords: (perSecond * signInWork.workerCpuMs) / 1000,
    isolatesWithPasswords: (perSecond * (signInWork.workerCpuMs + signInWork.passwordCpuMs)) / 1000,
    limitedBy: busiest.use > 1 ? busiest.name : "nothing",
  };
}
