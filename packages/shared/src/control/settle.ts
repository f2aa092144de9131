import { OAuthError, UnavailableError } from "@edge-op/protocol/oauth/errors";
import { limits } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import type { ControlView } from "./control-view.ts";
import { type ReadCondition, ReadSet } from "./read-set.ts";

/** A decision that is being made. */
export interface OpenDecision {
  /**
   * Continues only if all reads so far are current; otherwise the decision is made again. Call it before spending a credential that the same request
   * may spend again (ADR 7).
   */
  validate(): Promise<void>;
  /**
   * Validates for the last time: the decision stands and is not made again. Later changes are concurrent with the request. Call it before spending
   * anything else, and before issuing tokens.
   */
  commit(): Promise<void>;
  /**
   * Commits, and writes. While the version is not confirmed, one call may do both: `write` gets the condition under which the decision stands, and
   * returns false if the store, which has then written nothing, does not vouch for it. Otherwise the decision is committed, then `write` is called
   * without a condition.
   */
  commitWith(write: (condition?: ReadCondition) => Promise<boolean>): Promise<void>;
}

/** The parts of an isolate that decide whether a decision stands; leases or an exact check confirm the version. */
interface SettlingIsolate<Env> {
  readonly control: ControlView;
  readonly revocation: {
    confirmControl(context: RequestContext<Env>): Promise<void>;
    isControlConfirmed(context: RequestContext<Env>): boolean;
  };
}

type Decide<T> = (decision: OpenDecision) => Promise<T>;

/** Some read of a decision is not current. Never leaves {@link settle}. */
class OutdatedReads extends Error {
  override readonly name = "OutdatedReads";
}

/** Each attempt but the last one met a change of a record that it had read. */
const mostAttempts = 8;

/** The result of callers/read-ahead.ts: in an isolate that knows no control version, the records that the request's text names are being read. */
export interface ReadsBegun {
  readonly areBegun: true;
}

export const readsBegun: ReadsBegun = { areBegun: true };

/**
 * **Makes an endpoint's decision at one control version, not older than the request's arrival**, so that a disabled client, a
 * rotated secret or a revoked key is refused as soon as the admin call has returned (docs/reference/protocols.md §2, "Control
 * version"): all records that it reads are current at a version that was confirmed since the arrival, or it is made again (ADR 12).
 * Cost: see `confirmControl`.
 *
 * @param begun with it, a decision in an isolate that knows no control version begins without one, and spends nothing before it has validated;
 * otherwise the version is confirmed first.
 */
export async function settle<T, Env>(
  context: RequestContext<Env>,
  isolate: SettlingIsolate<Env>,
  decide: Decide<T>,
  begun?: ReadsBegun,
): Promise<T> {
  // A cold isolate does not know a control version yet: its copies carry their own.
  if (isolate.control.version === undefined && begun === undefined) await isolate.revocation.confirmControl(context);
  const untilMs = nowMs() + limits.settleMs;
  // The second attempt begins at a confirmed version: it is made however long the first one took.
  for (let attempt = 1; attempt <= mostAttempts && (attempt <= 2 || nowMs() < untilMs); attempt += 1) {
    try {
      return await decideOnce(context, isolate, decide);
    } catch (error) {
      if (!(error instanceof OutdatedReads)) throw error;
    } finally {
      context.progress.reads = undefined;
    }
  }
  throw new UnavailableError("control version", new Error("what the decision reads changed during each attempt"));
}

async function decideOnce<T, Env>(
  context: RequestContext<Env>,
  { control, revocation }: SettlingIsolate<Env>,
  decide: Decide<T>,
): Promise<T> {
  const reads = new ReadSet(control);
  context.progress.reads = reads;
  let isCommitted = false;
  const validate = async () => {
    await revocation.confirmControl(context);
    if (!reads.areCurrent()) throw new OutdatedReads();
  };
  const commit = async () => {
    if (!isCommitted) await validate();
    isCommitted = true;
    reads.decided();
  };
  const commitWith = async (write: (condition?: ReadCondition) => Promise<boolean>) => {
    const condition = isCommitted || revocation.isControlConfirmed(context) ? undefined : reads.condition;
    if (condition !== undefined && (await write(condition))) {
      isCommitted = true;
      return;
    }
    await commit();
    await write();
  };
  try {
    const result = await decide({ validate, commit, commitWith });
    await commit();
    return result;
  } catch (error) {
    // A refusal is a decision too.
    if (error instanceof OAuthError) await commit();
    if (!(error instanceof OutdatedReads)) reads.decided();
    throw error;
  }
}
