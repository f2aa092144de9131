/**
 * **The daily activity of ten million monthly users**, by the habits from which sizing and cost are computed (load-tests/model/habits.ts), and rates
 * that only the growth of stored rows needs. A deployment with other rates scales each row of the table in docs/reference/stored-formats.md.
 */

import { auditEventsOf, authorizationsPerDay, defaultHabits } from "../../load-tests/model/habits.ts";
import { sizeFor } from "../../load-tests/model/sizing.ts";

export const users = 10_000_000;
const active = users * defaultHabits.dailyShare;
const ofActive = (perUser: number) => Math.round(active * perUser);
export const clients = 2_000;
export const resources = 500;
/** Clients from registrations and documents: used ones are kept for 90 days, others for a day. */
/** Organisations, and memberships of a thousandth of the users, of a deployment that has them. */
export const organizations = 400;
export const members = 10_000;
export const openClients = 100_000;

export const ratesPerDay = {
  /** A session ends after a day without use, on average after three days (14 at most). */
  signIns: ofActive(defaultHabits.signIns),
  failedSignIns: ofActive(defaultHabits.failedSignIns),
  signOuts: ofActive(defaultHabits.signOuts),
  /** Includes silent ones; each creates a code. */
  authorizations: ofActive(authorizationsPerDay(defaultHabits)),
  /** Authorizations that show a page: sign-ins, half of them with another page. */
  /** Requests of more than 6 KiB. */
  largeFlows: 0.01 * ofActive(defaultHabits.signIns),
  /** A device is connected about once in its life. */
  deviceAuthorizations: 50_000,
  refreshFamilies: ofActive(defaultHabits.signIns),
  offlineGrants: ofActive(defaultHabits.offlineGrants),
  pushedRequests: 500_000,
  clientAssertions: 5_000_000,
  tokenRevocations: ofActive(defaultHabits.tokenRevocations),
  thefts: 500,
  newConsents: 50_000,
  newUsers: 10_000,
  newOrganizations: 1,
  newMembers: 10,
  invitations: 1_000,
  deletedUsers: 5_000,
  passkeysAdded: 10_000,
  appsAdded: 10_000,
  adminChanges: 20_000,
  /** Suspensions, deletions and new passwords: changes that end grants. */
  cutOffs: 5_000,
  /** Mails of changes of passwords and passkeys; a hundredth bounces. */
  notices: 20_000,
  /** Forgotten passwords and new addresses. */
  mailedCodes: 50_000,
  clientChanges: 100,
  /** Clients that register themselves, or whose documents receive a consent. */
  newClients: 2_000,
  resourceChanges: 10,
  /** An opening of a generation each month, a rotation of each of two algorithms each month. */
  openings: 1 / 30,
  keyRotations: 2 / 30,
  /** A restoration of D1 each year, with 50 objects that had sent events. */
  auditGaps: 50 / 365,
} as const;

/** Events recorded by objects. */
export const auditEventsPerDay = Math.round(auditEventsOf(users)) + 2 * ratesPerDay.thefts + ratesPerDay.cutOffs;

/** The maximum lifetime of `revoked` rows in days: that of the longest access token (ADRs 16, 28). */
export const revocationDays = { token: 1, grant: 1, cutOff: 1 } as const;

const { settings, refreshShards, sessionShards } = sizeFor(users, 300);

/** The shards that sizing recommends for this number of users. */
export const shardsOf = {
  TokenRevocationStore: settings.shards,
  RefreshTokenRotator: refreshShards,
  AuthorizationCodeStore: sessionShards,
  SessionStore: sessionShards,
  ChallengeStore: sessionShards,
  KeyManager: 1,
  ControlPlane: 1,
  MailSender: 1,
} as const;
