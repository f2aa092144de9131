import { queryDatabase } from "@edge-op/shared/cache/query-database";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { CutOffIntent } from "@edge-op/shared/objects/control-plane";
import { type ControlChange, commitControlChange } from "@edge-op/shared/revocation/commit-control-change";
import { nowMs } from "@edge-op/shared/runtime/clock";
import type { AccessToken } from "@edge-op/shared/tokens/access-token-content";
import type { ManagementEnv } from "../../management-env.ts";

/**
 * **Commits an administrative change**: its rows, its audit event and its control changes are one D1 transaction. With
 * control changes it answers when the change is in force on every live shard; without (the creation of a record whose
 * absence no isolate remembers) it is one D1 call.
 */
export interface AdminChange {
  readonly statements: readonly D1PreparedStatement[];
  /** What caches must forget. */
  readonly forget: readonly ControlChange[];
  readonly event: AdminEvent;
  /** Whose grants end with it, in the same round. */
  readonly cutOff?: Pick<CutOffIntent, "kind" | "id"> | undefined;
}

/** What the audit says: never a secret, a token or a password. */
export interface AdminEvent {
  readonly action: string;
  readonly target: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

interface Committer {
  readonly context: RequestContext<ManagementEnv>;
  readonly admin: AccessToken;
}

export async function commitChange({ context, admin }: Committer, change: AdminChange): Promise<void> {
  const database = context.env.DB;
  const { action, target, detail = {} } = change.event;
  const event = database
    .prepare("INSERT INTO admin_events (at_ms, action, target, client_id, sub, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
    .bind(nowMs(), action, target, admin.clientId, admin.sub, JSON.stringify(detail));
  const statements = [...change.statements, event];
  const cutOff = change.cutOff && { ...change.cutOff, actor: admin.sub };
  if (change.forget.length > 0) await commitControlChange(context, statements, change.forget, cutOff);
  else await queryDatabase(() => database.batch(statements));
}
