import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { tellPersonWhen } from "@edge-op/shared/mail/tell-person";
import { hashPassword } from "@edge-op/shared/secrets/password-hash";
import { endUserSessions } from "@edge-op/shared/sessions/user-sessions";
import { judgeNewPassword } from "@edge-op/shared/users/breached-password";
import { savePassword } from "@edge-op/shared/users/credentials";
import { forgetOfflineGrants } from "@edge-op/shared/users/offline-grants";
import type { User } from "@edge-op/shared/users/user";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { readDeployment } from "../runtime/deployment.ts";
import { changeAs, type Guard } from "../session/write-as.ts";
import type { PasswordProblem } from "./new-password.tsx";

/**
 * The fault of the new password of a form; `undefined` if there is none. Its page has a second field, `repeat`, unless `isShown`: a person who can
 * look at what they type repeats it only without a script. Cost: that of breached-password.ts.
 */
export async function checkNewPassword(
  context: RequestContext<AuthEnv>,
  { username, claims }: Pick<User, "username" | "claims">,
  form: Form,
  { isShown = false }: { readonly isShown?: boolean } = {},
): Promise<PasswordProblem | undefined> {
  const chosen = form.get("new") ?? "";
  const service = readDeployment(context.env).name;
  const fault = await judgeNewPassword(context, chosen, { username, email: claims.email, service });
  if (fault !== undefined) return { kind: fault };
  const repeated = form.get("repeat") ?? (isShown ? chosen : undefined);
  return chosen === repeated ? undefined : { kind: "differ" };
}

/** Why a password is replaced: the action of its event, what must still hold when it is, and the `sid` of the session that stays. */
export interface Replacement {
  readonly action: "password.changed" | "password.recovered";
  readonly guards: readonly [Guard, ...Guard[]];
  readonly kept?: string;
  /** What is written with it, and told by its event. */
  readonly others?: readonly D1PreparedStatement[];
  readonly detail?: Readonly<Record<string, unknown>>;
}

/**
 * **Replaces the password of a person.** A cut-off ends every grant and session of the person up to now, on every shard, and the person is told.
 * Returns the control version of the change, which the proofs of a new session rest on. Cost: 1 password hash, tell-person.ts, one control change
 * over all live shards. `ControlPlane` ends the sessions (ADR 16).
 */
export async function replacePassword(
  context: RequestContext<AuthEnv>,
  { sub, claims }: Pick<User, "sub" | "claims">,
  chosen: string,
  { action, guards, kept, others = [], detail = {} }: Replacement,
): Promise<number> {
  const { env, arrivedAtMs: atMs } = context;
  const saved = savePassword(env.DB, sub, await hashPassword(chosen), atMs);
  const reason = action.replace(".", " ");
  const ending = endUserSessions(env.DB, sub, { reason, atMs, ...(kept === undefined ? {} : { kept }) });
  const changed = { action, target: sub, actor: sub, detail };
  const statements = [
    ...ending,
    ...others,
    saved,
    forgetOfflineGrants(env.DB, sub),
    recordAdminEvent(context, changed),
  ];
  const cutOff = { kind: "sub", id: sub, actor: sub } as const;
  const notice = { sub, claims, kind: "password-changed", evidence: { action, target: sub } } as const;
  const commit = (ready: Promise<unknown>) =>
    changeAs(context, guards, statements, { changes: [{ kind: "user", id: sub }], cutOff, ready });
  const committed = await tellPersonWhen(context, notice, commit);
  wakeAuditLog(context);
  return committed.version;
}
