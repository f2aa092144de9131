import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { type ControlChange, commitControlChange } from "@edge-op/shared/control/commit-control-change";
import type { CutOffIntent } from "@edge-op/shared/control/control-plane-rpc";
import { type Notice, tellPersonWhen } from "@edge-op/shared/mail/tell-person";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { ActorRequest } from "./actor.ts";
import { requireAuthority, requireAuthorityNow } from "./delegate.ts";
import { mayBeConflict } from "./optimistic-concurrency.ts";

export interface AdminChange {
  readonly statements: readonly D1PreparedStatement[];
  /** The records that caches must delete. */
  readonly forget: readonly ControlChange[];
  readonly event: AdminEvent;
  /** The client or user whose grants end in the same round. */
  readonly cutOff?: Pick<CutOffIntent, "kind" | "id"> | undefined;
  /** The person who is told of the change. */
  readonly notice?: Omit<Notice, "evidence" | "isByAdministrator"> | undefined;
}

/** The audit event. It never contains a secret, a token or a password. */
export interface AdminEvent {
  readonly action: string;
  readonly target: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

/**
 * **Commits an administrative change**: its rows, its audit event and its control changes are one D1 transaction. With control changes, it returns
 * when the change is in force on every live shard. Without them (the creation of a record whose absence no isolate remembers), it is one D1 call. The
 * change of a delegated administrator stands only while they may make it (ADR 72).
 */
export async function commitChange({ context, actor, delegate }: ActorRequest, change: AdminChange): Promise<void> {
  const database = context.env.DB;
  const event = recordAdminEvent(context, { ...change.event, clientId: actor.clientId, actor: actor.sub });
  const authority = delegate === undefined ? [] : [requireAuthorityNow(database, delegate)];
  const statements = [...authority, ...change.statements, event];
  const cutOff = change.cutOff && { ...change.cutOff, actor: actor.sub };
  const commit = async (ready?: Promise<unknown>) => {
    if (change.forget.length > 0) return commitControlChange(context, statements, change.forget, cutOff, ready);
    await ready;
    return queryDatabase(() => database.batch(statements));
  };
  try {
    if (change.notice === undefined) await commit();
    else await tellPersonWhen(context, { ...change.notice, isByAdministrator: true, evidence: change.event }, commit);
  } catch (cause) {
    if (delegate !== undefined && mayBeConflict(cause)) await requireAuthority(database, delegate);
    throw cause;
  }
  wakeAuditLog(context);
}
