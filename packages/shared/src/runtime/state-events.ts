import { cause, type LogEvent, number, optional, requestId, text } from "./log-event.ts";

const sizeFields = {
  database: text("`DB` or `AUDIT_DB`."),
  bytes: number("Its size."),
  limitBytes: number("The limit of the platform."),
};
const noticeFields = {
  clientId: text("The client that is notified."),
  tries: number("How often the notice was sent."),
  problem: text("Why it was not acknowledged."),
};

/** **Events of objects and databases: outboxes, alarms, the audit log.** */
export const stateEvents = {
  "database-size": {
    meaning: "The size of a D1 database, once a day.",
    fields: sizeFields,
  },
  "database-nearly-full": {
    meaning: "The same above 80 % of the platform's limit. A full database accepts no writes: see sizing.",
    fields: sizeFields,
  },
  "object-nearly-full": {
    meaning:
      "The storage of an object is above half of the platform's limit; at most once an hour. A full object accepts no writes: see sizing.",
    fields: { object: text("The object's name."), bytes: sizeFields.bytes, limitBytes: sizeFields.limitBytes },
  },
  "sessions-still-listed": {
    meaning: "Expired sessions could not be removed from the users' lists. They stay listed until their absolute end.",
    fields: { sessions: number("How many."), cause },
  },
  "session-ending-delayed": {
    meaning:
      "An object did not end a session of a user who was suspended or deleted, or whose password was changed. The call is repeated until it does.",
    fields: { sid: text("The session."), cause },
  },
  "backed-up": {
    meaning: "A backup of D1 is complete, once a day with the bucket `BACKUP`: see [backup](../operating/backup.md).",
    fields: { name: text("The name of the backup."), rows: number("How many rows it has.") },
  },
  "client-repaired": {
    meaning:
      "`npm run admin-client` gave an administrator's client a new secret, by write access to D1: see [getting in](../operating/getting-in.md).",
    fields: { clientId: text("The client.") },
  },
  "keys-not-announced": {
    meaning:
      "A new key could not be announced to every isolate, because the control plane, D1 or a revocation shard did not respond. It does not sign until then; KeyManager repeats the announcement.",
    fields: { cause },
  },
  "logout-notice-failed": {
    meaning: "A client did not acknowledge a back-channel logout. It is sent again.",
    fields: noticeFields,
  },
  "logout-notice-abandoned": {
    meaning: "A client did not acknowledge a back-channel logout for a day. It is not sent again.",
    fields: noticeFields,
  },
  "grant-revocation-delayed": {
    meaning:
      "A shard of refresh families or of revocations did not accept the revocations of grants. They are sent again until it does.",
    fields: { shard: text("The name of the object."), grants: number("How many."), cause },
  },
  "shard-not-told": {
    meaning:
      "A revocation shard did not acknowledge an administrative change. It is notified again; the change is in force at the latest when the shard's lease has ended, ten seconds later.",
    fields: { shard: text("The name of the object."), cause },
  },
  "control-registered": {
    meaning:
      "The control plane did not respond to a revocation shard within a second: the shard has registered in D1 for ten seconds.",
    fields: { shard: text("The name of the object.") },
  },
  "control-not-followed": {
    meaning:
      "Neither the control plane nor D1 responded to a revocation shard. If this lasts for seven seconds, the shard stops responding: 503.",
    fields: { shard: text("The name of the object."), cause },
  },
  "alarm-task-failed": {
    meaning: "A task of an object's alarm failed. It runs again after five seconds.",
    fields: { cause },
  },
  "audit-gap": {
    meaning:
      "Audit events are missing in D1 and no longer held by their object ([ADR 35](../adr/0035-one-audit-chain-in-a-database-of-its-own.md)).",
    fields: {
      shard: text("The name of the object."),
      fromSeq: number("The first missing event."),
      toSeq: number("The last missing event."),
    },
  },
  "audit-chain-broken": {
    meaning: "An audit event differs from the one that its object recorded.",
    fields: {
      shard: text("The name of the object."),
      seq: number("The number of the event."),
      reason: text("How it differs."),
    },
  },
  "audit-set-back": {
    meaning:
      "A database was restored to an earlier time, or its newest audit rows were deleted ([ADR 35](../adr/0035-one-audit-chain-in-a-database-of-its-own.md)).",
    fields: {
      database: text("`DB` (rows of `admin_events`) or `AUDIT_DB` (positions of the chain)."),
      known: number("The newest number that was known."),
      found: number("The newest one that is still the same, or that exists."),
    },
  },
  "audit-log-not-woken": {
    meaning:
      "The object that copies changes in D1 into the audit log did not respond. It copies them within five minutes.",
    fields: { cause, requestId: optional(requestId) },
  },
  "report-failed": {
    meaning:
      "Issued tokens were not reported to the audit log, or refusals not to the list of recent ones; both are recorded on a best-effort basis.",
    fields: { tokens: number("How many tokens."), refusals: number("How many refusals."), cause, requestId },
  },
  "audit-export-failed": {
    meaning:
      "Events of the audit log were not moved to R2, or not deleted there. It is retried minutes later; until then they stay where they are.",
    fields: { cause },
  },
  "mail-delayed": {
    meaning: "The provider of mail did not accept mails. They are sent again, after 10 seconds to 2 hours.",
    fields: { mails: number("How many, of one alarm."), problem: text("The response of the provider to one of them.") },
  },
  "mail-misconfigured": {
    meaning:
      "The provider of mail accepts no mail of this deployment: see [mail](../operating/mail.md). Mails are kept for a day.",
    fields: { problem: text("The problem.") },
  },
  "mail-suppressed": {
    meaning: "A mail was not sent, because its address cannot receive mail.",
    fields: { problem: text("The response of the provider.") },
  },
  "mail-abandoned": {
    meaning: "A mail was given up.",
    fields: { reason: text("`expired`: it was not accepted for a day; `unreadable`: its key is lost.") },
  },
  "d1-set-back": {
    meaning:
      "D1 has lost control changes, because it was restored to an earlier time ([ADR 11](../adr/0011-a-restored-database-is-detected.md)).",
    fields: {
      told: number("The control version that was known."),
      found: number("The newest one in D1."),
      now: number("The one that was added in D1."),
    },
  },
} as const satisfies Readonly<Record<string, LogEvent>>;
