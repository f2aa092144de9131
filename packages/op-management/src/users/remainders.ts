import type { Settings } from "@edge-op/shared/config/settings";

/** Data that an erasure does not delete at once. */
export interface Remainder {
  readonly where: string;
  readonly what: string;
  readonly why: string;
  /** It is deleted so many days after the erasure; `undefined`: this provider never deletes it. */
  readonly days: number | undefined;
}

/** The row of a cut-off, and the longest-lived token that it refuses (366 days and a quarter of an hour). */
const cutOffDays = 367;
/** A month until the row may be deleted, and a day until it is. */
const changeDays = 32;
/** An invitation, and the day until its row is deleted. */
const invitationDays = 8;
/** D1's Time Travel. */
const timeTravelDays = 30;

export function remaindersOf({ auditRetentionDays }: Pick<Settings, "auditRetentionDays">): readonly Remainder[] {
  return [
    {
      where: "D1: retired_subs, retired_subjects",
      what: "a MAC of the sub",
      why: "the sub is never given to another person",
      days: undefined,
    },
    {
      where: "D1: audit_events",
      what: "events with the sub: what happened, when, with which client, from which network",
      why: "evidence, linked by a hash chain; AUDIT_RETENTION_DAYS",
      days: auditRetentionDays + 1,
    },
    {
      where: "R2: exports of the audit log",
      what: "the same events, if the deployment exports them",
      why: "kept as long as the operator's bucket says",
      days: undefined,
    },
    {
      where: "D1: admin_events, control_changes",
      what: "changes of the user: the sub, times, names of members",
      why: "isolates and the audit log read them",
      days: changeDays,
    },
    {
      where: "D1: invitations",
      what: "the sub, as the inviter of somebody who has not signed up yet",
      why: "the invitation can still be used",
      days: invitationDays,
    },
    { where: "D1: cut_offs", what: "the sub", why: "earlier tokens stay refused", days: cutOffDays },
    {
      where: "Durable Objects and KV",
      what: "the end of sessions and refresh families, mails that wait, copies of records",
      why: "deleted by their alarms and lifetimes",
      days: cutOffDays,
    },
    {
      where: "D1 Time Travel",
      what: "the databases as they were before",
      why: "a restoration to before the erasure brings the person back, suspended: erase again",
      days: timeTravelDays,
    },
  ];
}
