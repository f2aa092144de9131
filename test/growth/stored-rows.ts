import {
  auditEventsPerDay,
  clients,
  members,
  openClients,
  organizations,
  ratesPerDay,
  resources,
  revocationDays,
  type shardsOf,
  users,
} from "./rates.ts";

export interface StoredRows {
  readonly table: string;
  readonly where: "D1" | "audit database" | keyof typeof shardsOf | "each object";
  readonly perDay: number;
  /** In days; `"population"`: as long as the described item exists; `"kept"`: this provider never deletes them. */
  readonly life: number | "population" | "kept";
  /** Rows at a time, if not `perDay` × `life`. */
  readonly rows?: number;
  readonly text: Readonly<Record<string, number>>;
  /** Typical values of columns that are small integers, and columns that are NULL. */
  readonly numbers?: Readonly<Record<string, number>>;
  readonly absent?: readonly string[];
}

const minute = 1 / 1_440;
const hour = 1 / 24;
const {
  signIns,
  failedSignIns,
  signOuts,
  authorizations,
  deviceAuthorizations,
  largeFlows,
  refreshFamilies,
  offlineGrants,
  pushedRequests,
  clientAssertions,
  tokenRevocations,
  thefts,
  newConsents,
  newUsers,
  newOrganizations,
  newMembers,
  invitations,
  recoveriesAsked,
  deletedUsers,
  passkeysAdded,
  appsAdded,
  adminChanges,
  cutOffs,
  notices,
  mailedCodes,
  clientChanges,
  newClients,
  resourceChanges,
  openings,
  keyRotations,
  auditGaps,
} = ratesPerDay;

/** Grants that are revoked by a sign-out, a theft or the end of a session. */
const grantRevocations = 2 * signOuts + 2 * thefts;

const sub = 36;
const clientId = 24;
const sid = 40;
const grantId = 32;
const address = 46;
const one = { perDay: 0, life: "population", rows: 1 } as const;

const database: readonly StoredRows[] = [
  {
    table: "control_changes",
    where: "D1",
    // Written by: each administrative change.
    perDay: 1.7 * adminChanges,
    life: 32,
    text: { kind: 5, id: sub },
  },
  {
    table: "cut_offs",
    where: "D1",
    // Written by: changes that end grants.
    perDay: cutOffs,
    life: 367,
    text: { key: 44 },
  },
  { table: "announced_version", where: "D1", ...one, text: {} },
  {
    table: "control_registrations",
    where: "D1",
    // Written by: a shard that the control plane does not answer.
    ...one,
    text: { shard: 20 },
  },
  {
    table: "shard_generations",
    where: "D1",
    // Written by: an opening.
    perDay: openings,
    life: "kept",
    text: { store: 10, regions: 60 },
  },
  {
    table: "clients",
    where: "D1",
    // Written by: admin API, registrations, first consents to documents.
    perDay: clientChanges + newClients,
    life: "population",
    rows: clients + openClients,
    text: { client_id: 60, status: 6, metadata: 1_500, origin: 12 },
  },
  {
    table: "resources",
    where: "D1",
    // Written by: admin API.
    perDay: resourceChanges,
    life: "population",
    rows: resources,
    text: { identifier: 50, resource_id: 17, metadata: 1_000 },
  },
  {
    table: "document_hosts",
    where: "D1",
    // Written by: admin API, at most 200 rows.
    perDay: 1,
    life: "population",
    rows: 50,
    text: { host: 24, policy: 5 },
  },
  {
    table: "branding",
    where: "D1",
    // Written by: admin API, two rows at most.
    perDay: 1,
    life: "population",
    rows: 2,
    text: { id: 7, document: 4_000 },
  },
  {
    table: "client_secrets",
    where: "D1",
    // Written by: admin API, at most five a client.
    perDay: clientChanges,
    life: "population",
    rows: 2 * clients,
    text: { id: 22, client_id: clientId, secret: 95, sealed_by: 11 },
  },
  {
    table: "trusted_issuers",
    where: "D1",
    // Written by: admin API.
    perDay: 1,
    life: "population",
    rows: 100,
    text: { issuer_id: 20, issuer: 60, status: 6, document: 4_000 },
  },
  {
    table: "upstreams",
    where: "D1",
    // Written by: admin API, at most 50 rows.
    perDay: 1,
    life: "population",
    rows: 10,
    text: { upstream_id: 12, status: 6, document: 500, secret: 100, sealed_by: 11 },
  },
  {
    table: "attributes",
    where: "D1",
    // Written by: admin API, 64 K characters of documents at most.
    perDay: 1,
    life: "population",
    rows: 20,
    text: { name: 12, document: 250 },
  },
  {
    table: "users",
    where: "D1",
    // Written by: admin API.
    perDay: newUsers,
    life: "population",
    rows: users,
    text: { sub, username: 20, status: 6, claims: 150, attributes: 2, username_key: 20 },
    // With TERMS_VERSION about 70 bytes more.
    absent: ["terms_version", "terms_accepted_at_ms"],
  },
  {
    table: "retired_subs",
    where: "D1",
    // Written by: the deletion of a user.
    perDay: deletedUsers,
    life: "kept",
    text: { hash: 16 },
  },
  {
    table: "user_roles",
    where: "D1",
    // Written by: admin API.
    perDay: newUsers,
    life: "population",
    rows: users,
    text: { sub, role: 10 },
  },
  {
    table: "user_groups",
    where: "D1",
    // Written by: admin API.
    perDay: newUsers,
    life: "population",
    rows: users,
    text: { sub, group_name: 12 },
  },
  {
    table: "organizations",
    where: "D1",
    // Written by: admin API.
    perDay: newOrganizations,
    life: "population",
    rows: organizations,
    text: { org_id: 17, status: 6, document: 40 },
  },
  {
    table: "organization_domains",
    where: "D1",
    // Written by: admin API.
    perDay: newOrganizations,
    life: "population",
    rows: organizations,
    text: { org_id: 17, domain: 16, state: 8 },
    absent: ["absent_since_ms"],
  },
  {
    table: "memberships",
    where: "D1",
    // Written by: admin API.
    perDay: newMembers,
    life: "population",
    rows: members,
    text: { sub, org_id: 17, status: 6, source: 13 },
  },
  {
    table: "membership_roles",
    where: "D1",
    // Written by: admin API.
    perDay: newMembers,
    life: "population",
    rows: members,
    text: { sub, org_id: 17, role: 10 },
  },
  {
    table: "scim_tokens",
    where: "D1",
    // Written by: admin API, at most five of an organisation.
    perDay: 1,
    life: "population",
    rows: organizations / 10,
    text: { id: 16, org_id: 17, name: 8, secret: 95, sealed_by: 11 },
  },
  {
    table: "scim_users",
    where: "D1",
    // Written by: directories of organisations, of which one of twenty has one.
    perDay: newMembers / 20,
    life: "population",
    rows: members / 20,
    text: {
      org_id: 17,
      scim_id: 25,
      sub,
      external_id: 36,
      user_name_key: 24,
      email_key: 24,
      display_key: 14,
      document: 600,
    },
    numbers: { created_account: 1, active: 1 },
    absent: ["suspended_at_ms"],
  },
  {
    table: "scim_groups",
    where: "D1",
    // Written by: directories of organisations.
    perDay: 1,
    life: "population",
    rows: organizations,
    text: { org_id: 17, group_id: 25, external_id: 36, display_name: 16, display_key: 16 },
  },
  {
    table: "scim_members",
    where: "D1",
    // Written by: directories of organisations.
    perDay: newMembers / 5,
    life: "population",
    rows: members / 5,
    text: { org_id: 17, group_id: 25, scim_id: 25 },
  },
  {
    table: "scim_group_roles",
    where: "D1",
    // Written by: admin API.
    perDay: 1,
    life: "population",
    rows: organizations / 5,
    text: { org_id: 17, group_id: 25, role: 10 },
  },
  {
    table: "organization_role_permissions",
    where: "D1",
    // Written by: admin API.
    perDay: 1,
    life: "population",
    rows: 200,
    text: { role: 10, permission: 16 },
  },
  {
    table: "group_roles",
    where: "D1",
    // Written by: admin API.
    perDay: 1,
    life: "population",
    rows: 1_000,
    text: { group_name: 12, role: 10 },
  },
  {
    table: "role_permissions",
    where: "D1",
    // Written by: admin API.
    perDay: 1,
    life: "population",
    rows: 2_000,
    text: { role: 10, permission: 16 },
  },
  {
    table: "user_passwords",
    where: "D1",
    // Written by: admin API, a change of password.
    perDay: newUsers,
    life: "population",
    rows: 0.8 * users,
    text: { sub, hash: 90 },
    absent: ["temporary_until_ms"],
  },
  {
    table: "webauthn_credentials",
    where: "D1",
    // Written by: adding a passkey.
    perDay: passkeysAdded,
    life: "population",
    rows: 0.3 * users,
    text: { credential_id: 43, sub, public_key: 104, transports: 24, name: 20 },
  },
  {
    table: "user_search",
    where: "D1",
    // Written by: a change of a name, for each word.
    perDay: 3 * newUsers,
    life: "population",
    rows: 3 * users,
    text: { word: 12, sub },
  },
  {
    table: "user_addresses",
    where: "D1",
    // Written by: a verified address.
    perDay: newUsers,
    life: "population",
    rows: users,
    text: { address_key: 22, sub },
    absent: ["address", "held_until_ms"],
  },
  {
    table: "invitations",
    where: "D1",
    // Written by: admin API.
    perDay: invitations,
    life: 8,
    text: { id: 22, address_key: 22, address: 22, document: 80, inviter: clientId },
  },
  {
    table: "user_totp",
    where: "D1",
    // Written by: adding an app.
    perDay: appsAdded,
    life: "population",
    rows: 0.2 * users,
    text: { sub, factor_id: 22, secret: 64, sealed_by: 11 },
  },
  {
    table: "account_recoveries",
    where: "D1",
    // Written by: a request to recover an account by mail alone.
    perDay: recoveriesAsked,
    life: 8,
    text: { sub, recovery_id: 22, address_key: 22 },
    absent: ["stopped_at_ms"],
  },
  {
    table: "user_identities",
    where: "D1",
    // Written by: a first sign-in with an upstream provider, connecting one.
    perDay: newUsers,
    life: "population",
    rows: 0.4 * users,
    text: { upstream_id: 8, issuer: 30, subject: 28, sub, label: 24 },
  },
  {
    table: "user_recovery_codes",
    where: "D1",
    // Written by: making codes.
    perDay: appsAdded,
    life: "population",
    rows: 0.2 * users,
    text: { sub, set_id: 22, hashes: 171 },
  },
  {
    table: "consents",
    where: "D1",
    // Written by: a consent; none for `skip_consent`.
    perDay: newConsents,
    life: "population",
    rows: 0.5 * users,
    text: { sub, client_id: clientId, allowed: 60 },
  },
  {
    table: "user_grants",
    where: "D1",
    // Written by: an authorization with `offline_access`.
    perDay: offlineGrants,
    life: 32,
    text: { sub, client_id: clientId, grant_id: grantId, region: 4 },
    numbers: { generation: 1, shard: 7, family_generation: 1, family_shard: 7 },
    absent: ["family_region"],
  },
  {
    table: "user_sessions",
    where: "D1",
    // Written by: a sign-in.
    perDay: signIns,
    life: 15,
    rows: 3 * signIns,
    text: { sid, sub, device: 20, city: 10, country: 2 },
  },
  {
    table: "upstream_sessions",
    where: "D1",
    // Written by: a sign-in at an upstream provider that may end sessions; few deployments have one.
    perDay: 0.005 * signIns,
    life: 15,
    rows: 0.015 * signIns,
    text: { sid, session_key: 22, subject_key: 22 },
  },
  {
    table: "upstream_endings",
    where: "D1",
    // Written by: a logout token of an upstream provider.
    perDay: 0.015 * signOuts,
    life: 1.1,
    text: { name: 22 },
  },
  {
    table: "held_records",
    where: "D1",
    // Written by: a restoration of D1.
    perDay: 0,
    life: "population",
    rows: adminChanges,
    text: { kind: 5, id: sub, kept: 10, lost: 12 },
  },
  {
    table: "ending_sessions",
    where: "D1",
    // Written by: a suspension, deletion or new password of a user with sessions.
    perDay: cutOffs,
    life: hour,
    text: { sid, reason: 20 },
  },
  {
    table: "admin_events",
    where: "D1",
    // Written by: each administrative change.
    perDay: adminChanges,
    life: 32,
    text: { action: 12, target: sub, client_id: clientId, sub, detail: 40, address: 12, request_id: 20 },
  },
  {
    table: "key_schedule",
    where: "D1",
    // Written by: each change of keys.
    perDay: 0,
    life: "population",
    rows: 5,
    text: { keys: 220_000 },
  },
  {
    table: "deployment",
    where: "D1",
    // Written by: `npm run deploy`.
    perDay: 0,
    life: "population",
    rows: 10,
    text: { name: 12, value: 60 },
  },
  {
    table: "audit_events",
    where: "audit database",
    // Written by: every object's events, administrative changes.
    perDay: auditEventsPerDay + adminChanges,
    life: "kept",
    text: { shard: 20, type: 16, previous: 32, hash: 32, chain: 32, sub, client_id: clientId, actor: 10 },
  },
  {
    table: "retired_subjects",
    where: "audit database",
    // Written by: the deletion of a user.
    perDay: deletedUsers,
    life: "kept",
    text: { hash: 16 },
  },
  {
    table: "audit_watermarks",
    where: "audit database",
    // Written by: an object's first event.
    perDay: 0,
    life: "population",
    rows: 1_000,
    text: { shard: 20 },
  },
  {
    table: "audit_anchors",
    where: "audit database",
    // Written by: retention.
    perDay: 0,
    life: "population",
    rows: 1_000,
    text: { shard: 20, hash: 64 },
  },
  {
    table: "audit_gaps",
    where: "audit database",
    // Written by: a restoration of the database.
    perDay: auditGaps,
    life: "kept",
    text: { shard: 20 },
  },
  {
    table: "audit_segments",
    where: "audit database",
    // Written by: the archive, a row for each 5,000 events; half of their people are different ones, with 10 bits each.
    perDay: Math.round(auditEventsPerDay / 5_000),
    life: 366,
    text: { key: 45, digest: 32, before: 32, chain: 32, identities: 3_100 },
  },
];

const objects: readonly StoredRows[] = [
  {
    table: "revoked",
    where: "TokenRevocationStore",
    // Written by: revocations, ended grants, cut-offs (each on every shard).
    perDay: tokenRevocations + grantRevocations + 8 * cutOffs,
    life: revocationDays.cutOff,
    rows:
      tokenRevocations * revocationDays.token +
      grantRevocations * revocationDays.grant +
      8 * cutOffs * revocationDays.cutOff,
    text: { key: 60 },
  },
  {
    table: "operations",
    where: "TokenRevocationStore",
    // Written by: each revocation.
    perDay: tokenRevocations + grantRevocations,
    life: revocationDays.grant,
    rows: tokenRevocations * revocationDays.token + grantRevocations * revocationDays.grant,
    text: { operation_id: 45 },
  },
  { table: "shard_state", where: "TokenRevocationStore", ...one, text: {} },
  {
    table: "recent_change",
    where: "TokenRevocationStore",
    // Written by: each administrative change, on every shard.
    perDay: 8 * 1.7 * adminChanges,
    life: 500 / (1.7 * adminChanges),
    text: { kind: 5, id: sub },
  },
  {
    table: "family",
    where: "RefreshTokenRotator",
    // Written by: the first refresh of a grant; updated by each other.
    perDay: refreshFamilies,
    life: 31 + 2 * hour,
    text: { grant_id: grantId, family: 600, status: 4, successor: 260 },
  },
  {
    table: "ended_grant",
    where: "RefreshTokenRotator",
    // Written by: a grant with refresh tokens that ends before the first is used.
    perDay: signOuts,
    life: 32,
    text: { grant_id: grantId },
  },
  {
    table: "spent_code",
    where: "AuthorizationCodeStore",
    // Written by: a redemption of an authorization code.
    perDay: authorizations,
    life: 1 + 2 * minute,
    text: { id: 22, spent_by: sub },
  },
  {
    table: "device_code",
    where: "AuthorizationCodeStore",
    // Written by: a device authorization.
    perDay: deviceAuthorizations,
    life: 1 + 2 * minute,
    text: { id: 22, user_code: 8, client_id: clientId, request: 200, decision: 700, spent_by: sub },
  },
  {
    table: "sessions",
    where: "SessionStore",
    // Written by: a sign-in.
    perDay: signIns,
    life: 14 + 2 * minute,
    text: { sid, key: 43, sub, proofs: 75 },
  },
  {
    table: "session_clients",
    where: "SessionStore",
    // Written by: a client's first code in a session.
    perDay: 2 * signIns,
    life: 14 + 2 * minute,
    text: { sid, client_id: clientId, subject: sub, consented: 40 },
  },
  {
    table: "session_grants",
    where: "SessionStore",
    // Written by: a code without `offline_access`.
    perDay: authorizations - offlineGrants,
    life: 14 + 2 * minute,
    rows: 14 * (refreshFamilies - offlineGrants) + (authorizations - refreshFamilies),
    text: { grant_id: grantId, sid, client_id: clientId, address, family: 84 },
  },
  {
    table: "logout_notices",
    where: "SessionStore",
    // Written by: a sign-out, for each client with a URI.
    perDay: signOuts,
    life: 1,
    rows: signOuts / 100,
    text: { notice: 220 },
  },
  {
    table: "attempts",
    where: "SessionStore",
    // Written by: a failed sign-in: account, address, both.
    perDay: 3 * failedSignIns,
    life: 4 * hour + 16 * minute,
    text: { key: 43 },
  },
  {
    table: "spent_names",
    where: "SessionStore",
    // Written by: a sign-in.
    perDay: signIns,
    life: hour,
    text: { name: 27 },
  },
  {
    table: "throttle_reports",
    where: "SessionStore",
    // Written by: a refused attempt, once a minute and bucket.
    perDay: failedSignIns / 10,
    life: 12 * minute,
    text: { key: 43 },
  },
  {
    table: "challenge",
    where: "ChallengeStore",
    // Written by: assertions (in each generation), pushed requests, large flows.
    perDay: clientAssertions + pushedRequests + largeFlows,
    life: hour + 2 * minute,
    text: { key: 60, value: 300 },
  },
  { table: "used_proofs", where: "ChallengeStore", ...one, text: {} },
  {
    table: "mails",
    where: "MailSender",
    // Written by: a change that its person is told of, a mailed code.
    perDay: notices + mailedCodes,
    life: 1,
    rows: (notices + mailedCodes) / 200,
    text: { id: 38, content: 330 },
    numbers: { step: 2, tries: 0 },
  },
  {
    table: "failed_addresses",
    where: "MailSender",
    // Written by: a bounce or complaint.
    perDay: notices / 100,
    life: 90,
    text: { key: 43, kind: 7 },
  },
  {
    table: "keys",
    where: "KeyManager",
    // Written by: a rotation, the schedule.
    perDay: keyRotations + 7 / 30,
    life: 61,
    rows: 480,
    text: { kid: 43, alg: 5, public_jwk: 400, wrapped_private_key: 1_700 },
  },
  {
    table: "key_operations",
    where: "KeyManager",
    // Written by: a rotation or revocation.
    perDay: keyRotations,
    life: 2,
    text: { id: sub, answer: 90 },
  },
  {
    table: "key_revision",
    where: "KeyManager",
    // Written by: each change of keys.
    ...one,
    text: {},
  },
  {
    table: "intent",
    where: "ControlPlane",
    // Written by: each administrative change.
    perDay: adminChanges,
    life: 2 * minute,
    text: { operation_id: sub, cut_off: 120 },
  },
  {
    table: "announced_change",
    where: "ControlPlane",
    // Written by: each administrative change.
    perDay: 1.7 * adminChanges,
    life: 500 / (1.7 * adminChanges),
    text: { kind: 5, id: sub },
  },
  {
    table: "lease_horizon",
    where: "ControlPlane",
    // Written by: leases of shards.
    ...one,
    text: {},
  },
  {
    table: "cut_off",
    where: "ControlPlane",
    // Written by: changes that end grants.
    perDay: cutOffs,
    life: 366,
    text: { key: 44 },
  },
  {
    table: "cut_off_operation",
    where: "ControlPlane",
    // Written by: changes that end grants.
    perDay: cutOffs,
    life: 2,
    text: { operation_id: sub, key: 44 },
  },
  {
    table: "opening",
    where: "ControlPlane",
    // Written by: an opening.
    perDay: openings,
    life: 2,
    text: { operation_id: sub, store: 10, regions: 60 },
  },
  {
    table: "retirement",
    where: "ControlPlane",
    // Written by: an opening.
    perDay: openings,
    life: 367,
    text: { store: 10 },
  },
  {
    table: "opened_generation",
    where: "ControlPlane",
    // Written by: an opening.
    perDay: openings,
    life: "kept",
    text: { store: 10, regions: 60 },
  },
  {
    table: "session_ending",
    where: "ControlPlane",
    // Written by: a cut-off of a user.
    ...one,
    text: { moved_to: 40 },
    absent: ["before_ms"],
  },
  { table: "change_sweep", where: "ControlPlane", ...one, text: {} },
  {
    table: "grant_sweep",
    where: "ControlPlane",
    // Written by: the daily sweep.
    ...one,
    text: { sub },
  },
  { table: "last_told", where: "ControlPlane", ...one, text: {} },
  {
    table: "lowest_kept",
    where: "ControlPlane",
    // Written by: a restoration of D1.
    ...one,
    text: {},
  },
  { table: "last_gap", where: "ControlPlane", ...one, text: {} },
  {
    table: "admin_relay",
    where: "ControlPlane",
    // Written by: each copied administrative change.
    ...one,
    text: {},
  },
  {
    table: "admin_relayed",
    where: "ControlPlane",
    // Written by: each copied administrative change.
    perDay: adminChanges,
    life: 32,
    text: { fingerprint: 43, action: 14, kind: 5, id: sub },
  },
  {
    table: "database_backup",
    where: "ControlPlane",
    // Written by: each part of a backup, if there is a bucket.
    ...one,
    text: { progress: 8_000 },
  },
  {
    table: "audit_head",
    where: "ControlPlane",
    // Written by: the daily keeping of the audit log.
    ...one,
    text: {},
  },
  {
    table: "audit_keeping",
    where: "ControlPlane",
    // Written by: the daily keeping of the audit log.
    ...one,
    text: {},
  },
  {
    table: "refusals",
    where: "ControlPlane",
    // Written by: a refusal, 12 a second at most.
    perDay: 1_036_800,
    life: "population",
    rows: 10_000,
    text: { client: 20, request_id: 36, refusal: 700 },
  },
  {
    table: "audit_outbox",
    where: "each object",
    // Written by: each event.
    perDay: auditEventsPerDay,
    life: minute,
    text: { type: 16, previous: 64, hash: 64 },
  },
  {
    table: "audit_cursor",
    where: "each object",
    // Written by: each batch of events.
    ...one,
    text: {},
  },
  {
    table: "audit_name",
    where: "each object",
    // Written by: the first request.
    ...one,
    text: { name: 20 },
  },
  { table: "fence", where: "each object", ...one, text: {} },
  {
    table: "due_revocation",
    where: "each object",
    // Written by: thefts, ended sessions.
    perDay: thefts + 5 * signIns,
    life: minute,
    text: { grant_id: grantId, revocation: 220, sid, shards: 24 },
  },
  {
    table: "unanswered_shard",
    where: "each object",
    // Written by: a shard that does not respond.
    perDay: 0,
    life: "population",
    rows: 8,
    text: { name: 22 },
  },
];

/**
 * **Every stored table, with the writer of its rows, their number per day at ten million users, and their end.** The number of rows at a time is
 * arrivals × life, or a population. `text`: typical characters of the columns that are texts, from which the size of a row is measured in SQLite with
 * the statements of the migrations and of op-state (growth.test.ts).
 */
export const storedRows: readonly StoredRows[] = [...database, ...objects];

/** `undefined` if it grows without end. */
export function rowsAtOnce({ rows, perDay, life }: StoredRows): number | undefined {
  if (rows !== undefined) return rows;
  return typeof life === "number" ? perDay * life : undefined;
}
