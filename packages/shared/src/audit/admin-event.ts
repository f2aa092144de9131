/**
 * **The audit event of a change in D1**, to be written in the transaction of the change: a row of `admin_events`, which `ControlPlane` copies into
 * the audit chain exactly once (ADR 35). It covers administrators' changes and those that people make to their own account.
 */

import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { objectStub } from "../storage/call-object.ts";
import { controlPlaneName } from "../storage/shard-address.ts";
import type { AuditLogRpc } from "./audit-log-rpc.ts";

export interface AuditLogBindings {
  readonly CONTROL_PLANE: DurableObjectNamespace<AuditLogRpc>;
}

export interface DatabaseEvent {
  /** `client.update`, `consent.given`: the noun determines the target of the event (op-state, admin-event-row.ts). */
  readonly action: string;
  readonly target: string;
  /** The client of the admin token, or the client that a person's change concerns. */
  readonly clientId?: string;
  /** The subject that acted. */
  readonly actor: string;
  /** Never a secret, a token or a password. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

type EventContext = Pick<RequestContext<{ readonly DB: D1Database }>, "env" | "network" | "requestId">;

/**
 * `ifChanged`: written only if the statement before it in the transaction has changed a row. `ifFound`: only if this condition holds at its place in
 * the transaction; ?3 is the target, ?4 the client.
 */
export function recordAdminEvent(
  { env, network, requestId }: EventContext,
  { action, target, clientId = "", actor, detail = {} }: DatabaseEvent,
  { ifChanged = false, ifFound = "1" }: { readonly ifChanged?: boolean; readonly ifFound?: string } = {},
): D1PreparedStatement {
  return env.DB.prepare(
    `INSERT INTO admin_events (at_ms, action, target, client_id, sub, detail, address, request_id)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE ${ifChanged ? "changes() > 0" : ifFound}`,
  ).bind(nowMs(), action, target, clientId, actor, JSON.stringify(detail), network ?? null, requestId);
}

/** Call after the commit, in the background. A failed call delays the copy by minutes, until the object checks on its own. */
export function wakeAuditLog({
  env,
  settings,
  requestId,
  waitUntil,
}: Pick<RequestContext<AuditLogBindings>, "env" | "settings" | "waitUntil"> & {
  readonly requestId?: string;
}): void {
  const wake = async () => {
    try {
      await objectStub(settings, env.CONTROL_PLANE, controlPlaneName).wakeAudit();
    } catch (cause) {
      log("audit-log-not-woken", { cause: String(cause), requestId });
    }
  };
  waitUntil(wake());
}
