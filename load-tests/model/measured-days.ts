/** A day of a deployment, in the units that the platform charges for, as counted by `scripts/count-days.ts`. */
export interface MeasuredDay {
  /** Users in a month. */
  readonly users: number;
  readonly isolates: number;
  /** Shards of revocations. */
  readonly shards: number;
  /** Calls and alarms of objects, by store and method: `revocation.lease`. */
  readonly calls: Readonly<Record<string, number>>;
  /** By store. */
  readonly awakeSeconds: Readonly<Record<string, number>>;
  readonly rowsWritten: Readonly<Record<string, number>>;
  readonly databaseCalls: number;
  readonly kvReads: number;
  readonly kvWrites: number;
  /** Messages of the audit queue. */
  readonly messages: number;
}

/** The days that are measured. Short simulations of busy deployments, long ones of quiet ones. */
export const measuredDays = [
  { users: 0, hours: 240, isolates: 4, shards: 8 },
  { users: 10, hours: 240, isolates: 4, shards: 8 },
  { users: 100, hours: 48, isolates: 4, shards: 8 },
  { users: 1_000, hours: 12, isolates: 4, shards: 8 },
  { users: 1_000, hours: 12, isolates: 4, shards: 1 },
  { users: 10_000, hours: 2, isolates: 10, shards: 8 },
  { users: 10_000, hours: 2, isolates: 10, shards: 1 },
] as const;
