/**
 * **What ten million users do in a day**: the rates for which the growth of every stored row is computed (stored-rows.ts). Assumptions,
 * not measurements; a deployment with other rates scales each row of the table in docs/reference/stored-formats.md in proportion.
 */
export const users = 10_000_000;
export const clients = 2_000;
export const resources = 500;
/** Of registrations and documents: used ones live 90 days, others a day. */
export const openClients = 100_000;

export const ratesPerDay = {
  /** A tenth of the users sign in on a day; a session ends after a day without use, on average after three days (14 at most). */
  signIns: 1_000_000,
  failedSignIns: 200_000,
  signOuts: 200_000,
  /** Silent ones included; each makes a code. */
  authorizations: 5_000_000,
  /** Authorizations that show a page. */
  interactions: 1_500_000,
  /** A device is connected about once in its life. */
  deviceAuthorizations: 50_000,
  refreshFamilies: 1_000_000,
  offlineGrants: 300_000,
  refreshes: 30_000_000,
  exchanges: 10_000_000,
  pushedRequests: 500_000,
  clientAssertions: 5_000_000,
  tokenRevocations: 200_000,
  thefts: 500,
  newConsents: 50_000,
  newUsers: 10_000,
  deletedUsers: 5_000,
  passkeysAdded: 10_000,
  adminChanges: 20_000,
  /** Suspensions, deletions and new passwords: changes that end grants. */
  cutOffs: 5_000,
  clientChanges: 100,
  /** Clients that register themselves, or are agreed to by their documents. */
  newClients: 2_000,
  resourceChanges: 10,
  /** An opening of a generation each month, a rotation of each of two algorithms each month. */
  openings: 1 / 30,
  keyRotations: 2 / 30,
  /** A restoration of D1 each year, with 50 objects that had sent events. */
  auditGaps: 50 / 365,
} as const;

/** Events that objects record: sign-ins, sign-outs, ended sessions, failures, revocations, thefts, cut-offs. */
export const auditEventsPerDay =
  2 * ratesPerDay.signIns +
  ratesPerDay.failedSignIns +
  ratesPerDay.tokenRevocations +
  2 * ratesPerDay.refreshFamilies +
  ratesPerDay.thefts +
  ratesPerDay.cutOffs;

/** How long rows of `revoked` live at most, in days: as the longest access token (ADRs 38, 26). */
export const revocationDays = { token: 1, grant: 1, cutOff: 1 } as const;

/** Shards of a new deployment (0001_schema.sql). */
export const shardsOf = {
  TokenRevocationStore: 8,
  RefreshTokenRotator: 8,
  AuthorizationCodeStore: 8,
  SessionStore: 8,
  ChallengeStore: 8,
  KeyManager: 1,
  ControlPlane: 1,
} as const;

/** D1 database and SQLite of an object: https://developers.cloudflare.com/d1/platform/limits/ */
export const limitBytes = 10_000_000_000;
