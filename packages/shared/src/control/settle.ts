import { OAuthError, UnavailableError } from "@edge-op/protocol/oauth/errors";
import { limits } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import type { ControlView } from "./control-view.ts";
import { DecisionReads } from "./decision-reads.ts";

/** The control version changed during a decision, which must be repeated. Never leaves {@link settle}. */
class Restart extends Error {
  override readonly name = "Restart";
}

/** The parts of an isolate that decide whether a decision stands; leases or an exact check confirm the version. */
interface Settled<Env> {
  readonly control: ControlView;
  readonly revocation: {
    isControlConfirmed(context: RequestContext<Env>): boolean;
    confirmControl(context: RequestContext<Env>): Promise<void>;
  };
}

/** Each attempt but the last one met a change of a record that it had read. */
const attempts = 8;

/**
 * **Makes an endpoint's decision at one control version, not older than the request's arrival**, so that a disabled client, a
 * rotated secret or a revoked key is refused as soon as the admin call has returned (docs/reference/protocols.md §2, "Control
 * version").
 *
 * An attempt that began before the version was confirmed stands if the version is unchanged then; a later one stands unless its
 * reads belong to different versions (ADR 12). `decide` calls `confirm` before it spends anything (rotation, code, assertion), and
 * the decision then stands. Cost: see `confirmControl`.
 */
export async function settle<T, Env>(
  context: RequestContext<Env>,
  isolate: Settled<Env>,
  decide: (confirm: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const { control, revocation } = isolate;
  // A cold isolate does not know a control version yet.
  if (control.version === undefined) await revocation.confirmControl(context);
  const untilMs = nowMs() + limits.settleMs;
  // The second attempt begins at a confirmed version, so it stands unless its reads are torn: it is made however long the first one took.
  for (let attempt = 1; attempt <= attempts && (attempt <= 2 || nowMs() < untilMs); attempt += 1) {
    const result = await attemptOnce(context, isolate, decide);
    if (result !== undefined) return result();
  }
  throw new UnavailableError("control version", new Error("what the decision reads changed during each attempt"));
}

/** Returns `undefined` if the decision must be repeated. */
async function attemptOnce<T, Env>(
  context: RequestContext<Env>,
  { control, revocation }: Settled<Env>,
  decide: (confirm: () => Promise<void>) => Promise<T>,
): Promise<(() => T) | undefined> {
  const { version } = control;
  const beganConfirmed = revocation.isControlConfirmed(context);
  const reads = new DecisionReads(control);
  context.progress.reads = reads;
  const stands = async () => {
    if (!revocation.isControlConfirmed(context)) await revocation.confirmControl(context);
    return beganConfirmed ? !reads.isTorn : control.version === version;
  };
  let isSpending = false;
  const confirm = async () => {
    if (!(await stands())) throw new Restart();
    isSpending = true;
  };
  const result = await resultOf(decide, confirm);
  context.progress.reads = undefined;
  if (result === undefined) return undefined;
  // Later changes are concurrent with this request. Repeating a decision that has spent its input would refuse it.
  return isSpending || (await stands()) ? result : undefined;
}

/** A refusal is a result too; `undefined` if the decision was abandoned by {@link Restart}. */
async function resultOf<T>(
  decide: (confirm: () => Promise<void>) => Promise<T>,
  confirm: () => Promise<void>,
): Promise<(() => T) | undefined> {
  try {
    const value = await decide(confirm);
    return () => value;
  } catch (error) {
    if (error instanceof Restart) return undefined;
    if (error instanceof OAuthError) return () => raise(error);
    throw error;
  }
}

function raise(error: OAuthError): never {
  throw error;
}
