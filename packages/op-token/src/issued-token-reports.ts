import type { AuditKeeperBindings } from "@edge-op/shared/audit/admin-event";
import type { IssuedToken, IssuedTokensResult } from "@edge-op/shared/audit/audit-keeper-rpc";
import { limits } from "@edge-op/shared/config/limits";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { log } from "@edge-op/shared/runtime/log";
import { callObject, objectStub } from "@edge-op/shared/storage/call-object";
import { controlPlaneName } from "@edge-op/shared/storage/shard-address";

/** Tokens per call; further ones are only counted. */
const mostHeld = 20;
const gatherMs = 1_000;
/** The pause after a failed call. */
const failedPauseMs = 60_000;

/**
 * **Reports issued tokens to the audit log in the background** (ADR 35): best effort, in batches of one call, as often as the object allows. No
 * request waits for it, and nothing is written on the path of a token. Cost: at most one object call per second, one per five seconds in a busy
 * deployment.
 */
export class IssuedTokenReports {
  #held: IssuedToken[] = [];
  #omitted = 0;
  #isSending = false;
  #pausedUntilMs = 0;

  /** `describe` is called only if the token will be reported. */
  note(context: RequestContext<AuditKeeperBindings>, describe: () => IssuedToken): void {
    if (context.settings.auditTokensPerMinute === 0) return;
    if (this.#held.length < mostHeld) this.#held.push(describe());
    else this.#omitted += 1;
    if (this.#isSending || context.arrivedAtMs < this.#pausedUntilMs) return;
    this.#isSending = true;
    context.waitUntil(this.#send(context));
  }

  async #send({ env, settings, requestId }: RequestContext<AuditKeeperBindings>): Promise<void> {
    await scheduler.wait(gatherMs);
    const [tokens, omitted] = [this.#held, this.#omitted];
    this.#held = [];
    this.#omitted = 0;
    const stub = objectStub(settings, env.CONTROL_PLANE, controlPlaneName);
    const call = async (): Promise<IssuedTokensResult> => await stub.recordIssued(tokens, omitted);
    try {
      const { pauseMs } = await callObject("control plane", call, limits.statisticsCallMs);
      this.#pausedUntilMs = nowMs() + pauseMs;
    } catch (cause) {
      this.#pausedUntilMs = nowMs() + failedPauseMs;
      log("issued-tokens-not-recorded", { tokens: tokens.length + omitted, cause: String(cause), requestId });
    } finally {
      this.#isSending = false;
    }
  }
}
