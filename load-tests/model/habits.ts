/**
 * **The habits of people, as one set of rates** from which sizing and cost (here) and the growth of every stored row (test/growth/rates.ts) are
 * computed. They are assumptions that an operator replaces; the bytes of a row are measured (test/reference/growth.test.ts).
 */
export interface Habits {
  /** The share of a month's users who are active on a day. */
  readonly dailyShare: number;
  /** Per active user and day. */
  readonly signIns: number;
  readonly failedSignIns: number;
  /** Codes for further applications, without a page. */
  readonly furtherCodes: number;
  /** Codes with `offline_access`. */
  readonly offlineGrants: number;
  readonly refreshes: number;
  readonly userinfo: number;
  readonly exchanges: number;
  readonly introspections: number;
  readonly signOuts: number;
  readonly tokenRevocations: number;
  /** The rate of the busiest minute divided by the day's mean. */
  readonly peakOverMean: number;
}

export const defaultHabits: Habits = {
  dailyShare: 0.3,
  signIns: 1,
  failedSignIns: 0.2,
  furtherCodes: 1,
  offlineGrants: 0.1,
  refreshes: 8,
  userinfo: 4,
  exchanges: 20,
  introspections: 100,
  signOuts: 0.2,
  tokenRevocations: 0.1,
  peakOverMean: 4,
};

/** Reads per active user and day that are decided by leases. */
export function readsPerDay({ userinfo, exchanges, introspections }: Habits): number {
  return userinfo + exchanges + introspections;
}

/** Codes per active user and day. The code of a session's first application also starts a refresh family. */
export function authorizationsPerDay({ signIns, furtherCodes }: Habits): number {
  return signIns + furtherCodes;
}

export function revocationsPerDay({ signOuts, tokenRevocations }: Habits): number {
  return signOuts + tokenRevocations;
}

/** Per active user and day: sign-ins and ends of sessions, redeemed codes, failures, revoked tokens, and two grants per sign-out. */
function auditEventsPerDay(habits: Habits): number {
  const { signIns, failedSignIns, tokenRevocations, signOuts } = habits;
  return 2 * signIns + authorizationsPerDay(habits) + failedSignIns + tokenRevocations + 2 * signOuts;
}

const secondsOfDay = 86_400;

/** Events of users' actions on a day, and `token.issued` up to the default of `AUDIT_TOKENS_PER_MINUTE`, all of one object. */
function auditedOf(users: number, habits: Habits) {
  const active = users * habits.dailyShare;
  const tokens = active * (habits.refreshes + habits.exchanges);
  return { actions: active * auditEventsPerDay(habits), tokens: Math.min(tokens, secondsOfDay) };
}

/** The events of a deployment on a day. */
export function auditEventsOf(users: number, habits: Habits = defaultHabits): number {
  const { actions, tokens } = auditedOf(users, habits);
  return actions + tokens;
}

/** An outbox sends an event after so many seconds, and after so many since it has last sent some (packages/op-state/src/audit/audit-outbox.ts). */
const gatherSeconds = 1;
const busyGatherSeconds = 10;
const eventsOfMessage = 24;
/** Shards of sessions, of codes and of revocations, among which the actions are divided equally; larger deployments have more. */
const leastOutboxes = 24;
const usersOfOutbox = 200_000;

/** The messages of a deployment on a day, if events come at random times. */
export function auditMessagesOf(users: number, habits: Habits = defaultHabits): number {
  const { actions, tokens } = auditedOf(users, habits);
  const outboxes = Math.max(leastOutboxes, users / usersOfOutbox);
  return outboxes * messagesOf(actions / outboxes) + messagesOf(tokens);
}

function messagesOf(eventsOfDay: number): number {
  if (eventsOfDay === 0) return 0;
  const perSecond = eventsOfDay / secondsOfDay;
  const pauseSeconds = busyGatherSeconds + Math.exp(-(busyGatherSeconds - gatherSeconds) * perSecond) / perSecond;
  return Math.max(secondsOfDay / pauseSeconds, eventsOfDay / eventsOfMessage);
}

/** Bytes of a row with its indexes, in SQLite. */
export const rowBytes = {
  family: 1_300,
  sessions: 450,
  session_clients: 180,
  session_grants: 460,
  spent_code: 120,
  audit_events: 610,
  audit_segments: 4_200,
} as const;

/** The lifetime of rows in days: a refresh family (`REFRESH_TOKEN_LIFETIME`), and the maximum for a session (`SESSION_LIFETIME`). */
export const lifeDays = { family: 31, session: 14 } as const;

/** The limit of a D1 database, and of the SQLite of an object. @see https://developers.cloudflare.com/durable-objects/platform/limits/ */
export const limitBytes = 10_000_000_000;

/** Bytes in all shards of a store. */
export interface StoreBytes {
  readonly refresh: number;
  readonly session: number;
  readonly code: number;
}

export function storeBytes(users: number, habits: Habits = defaultHabits): StoreBytes {
  const active = users * habits.dailyShare;
  const { signIns, offlineGrants } = habits;
  const authorizations = authorizationsPerDay(habits);
  const grants = lifeDays.session * (signIns - offlineGrants) + authorizations - signIns;
  return {
    refresh: active * signIns * lifeDays.family * rowBytes.family,
    session:
      active *
      (lifeDays.session * signIns * (rowBytes.sessions + 2 * rowBytes.session_clients) +
        grants * rowBytes.session_grants),
    code: active * authorizations * rowBytes.spent_code,
  };
}

/** Bytes of D1 for each user of a month, and of an event in a segment of the archive (test/reference/growth.test.ts). */
export const bytesPerUser = 2_500;
export const segmentBytesPerEvent = 160;

const retentionDays = 365;
const recentDays = 7;
const eventsOfSegment = 5_000;
const mostRecentEvents = 8_000_000;

/** The bytes of an audit log with its archive, and the segments of a day: at the defaults of its settings. */
export function auditStorage(users: number, habits: Habits = defaultHabits) {
  const perDay = auditEventsOf(users, habits);
  const recent = Math.min(perDay * recentDays, mostRecentEvents);
  const segmentsPerDay = perDay === 0 ? 0 : Math.max(1, perDay / eventsOfSegment);
  return {
    segmentsPerDay,
    databaseBytes: recent * rowBytes.audit_events + segmentsPerDay * retentionDays * rowBytes.audit_segments,
    archiveBytes: (perDay * retentionDays - recent) * segmentBytesPerEvent,
  };
}

/** Days until the audit log alone fills its database, without an archive. */
export function auditDaysUntilFull(users: number, habits: Habits = defaultHabits): number {
  return limitBytes / (auditEventsOf(users, habits) * rowBytes.audit_events);
}
