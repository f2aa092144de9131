/**
 * **The phases of a soak**: the operations of each, and their intervals in milliseconds. Only a phase with `evict`, `end relay`, `freeze isolate` or
 * `restart` has faults; in every other a single 503 is a violation, so these come first and last.
 */

export type Operation =
  | "issue"
  | "revoke"
  | "refresh"
  | "steal"
  | "sign out"
  | "end session"
  | "withdraw consent"
  | "disable client"
  | "rotate secret"
  | "suspend user"
  | "suspend person"
  | "open generation"
  | "rotate key"
  | "open relays"
  | "evict"
  | "end relay"
  | "freeze isolate"
  | "restart";

export interface Phase {
  readonly name: string;
  /** Its share of the total time. */
  readonly share: number;
  readonly everyMs: Readonly<Partial<Record<Operation, number>>>;
  /** Some clients send the headers first and the body later. */
  readonly slowBodies?: boolean;
}

const sessionEnds = { "sign out": 1000, "end session": 2500, "withdraw consent": 1500 };
const load = { issue: 20, revoke: 100, refresh: 100, steal: 1500, ...sessionEnds };
const controlChanges = { "disable client": 300, "rotate secret": 300, "suspend user": 300, "suspend person": 3000 };
const schedules = { "open generation": 5000, "rotate key": 4000 };

export const phases: readonly Phase[] = [
  { name: "no faults", share: 1, everyMs: load },
  { name: "control changes", share: 2, everyMs: { ...load, ...controlChanges, ...schedules } },
  { name: "slow bodies", share: 2, everyMs: { ...load, ...controlChanges }, slowBodies: true },
  { name: "evictions", share: 2, everyMs: { ...load, ...controlChanges, ...schedules, evict: 700 } },
  {
    name: "restarts",
    share: 2,
    everyMs: { ...load, ...controlChanges, ...schedules, evict: 2000, restart: 9000 },
    slowBodies: true,
  },
  { name: "after the faults", share: 1, everyMs: { ...load, ...controlChanges } },
];

/** Phases with relays and an isolate in a separate process: relays end and are replaced by another generation, and the isolate stalls. */
export const relayPhases: readonly Phase[] = phases.flatMap((phase) =>
  phase.name !== "restarts"
    ? [phase]
    : [
        {
          name: "relays end",
          share: 2,
          everyMs: { ...load, ...controlChanges, ...schedules, "end relay": 1500, "open relays": 9000 },
        },
        { name: "frozen isolate", share: 2, everyMs: { ...load, ...controlChanges, "freeze isolate": 6000 } },
        { ...phase, everyMs: { ...phase.everyMs, "end relay": 4000 } },
      ],
);
