import type { OAuthError } from "@edge-op/protocol/oauth/errors";
import { limits } from "../config/limits.ts";
import type { RefusalReports, RequestContext, SentRequest } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { callObject, objectStub } from "../storage/call-object.ts";
import { controlPlaneName } from "../storage/shard-address.ts";
import type { AuditLogBindings } from "./admin-event.ts";
import type { IssuedToken, ReportedRefusal, ReportResult, RequestReport } from "./audit-log-rpc.ts";
import { describeRefusal } from "./describe-refusal.ts";

/** The maximum of each kind in one call; further ones are only counted. */
const mostTokens = 20;
const mostRefusals = 40;
/** Refusals in one call of one known client, and of all senders that name none: half of the places are left to others. */
const mostOfGroup = mostRefusals / 2;
const gatherMs = 1_000;
/** The pause after a failed call. */
const failedPauseMs = 60_000;

/**
 * **Reports issued tokens and refusals of an isolate in the background** (ADR 35, 57): best effort, in batches of one call, as often as the object allows.
 * No request waits for it, and nothing is written on the path of a request. Cost: at most one object call per second, one per five seconds in a busy
 * deployment, and ten per second of all isolates together; none without tokens and refusals.
 */
export class RequestReports implements RefusalReports<AuditLogBindings> {
  #tokens: IssuedToken[] = [];
  #omittedTokens = 0;
  #refusals: ReportedRefusal[] = [];
  #omittedRefusals = 0;
  #isSending = false;
  #pausedUntilMs = 0;

  /** `describe` is called only if the token will be reported. */
  noteIssued(context: RequestContext<AuditLogBindings>, describe: () => IssuedToken): void {
    if (context.settings.auditTokensPerMinute === 0) return;
    if (this.#tokens.length < mostTokens) this.#tokens.push(describe());
    else this.#omittedTokens += 1;
    this.#sendSoon(context);
  }

  noteRefusal(context: RequestContext<AuditLogBindings>, refusal: OAuthError, request: SentRequest | undefined): void {
    if (this.#hasPlace(context.progress)) this.#refusals.push(describeRefusal(context, refusal, request));
    else this.#omittedRefusals += 1;
    this.#sendSoon(context);
  }

  #hasPlace({ clientId, claimedClientId, namesKnownClient }: RequestContext<unknown>["progress"]): boolean {
    if (this.#refusals.length >= mostRefusals) return false;
    const known = clientId ?? (namesKnownClient === true ? claimedClientId : undefined);
    const isOfGroup = (held: ReportedRefusal) =>
      known === undefined ? !held.isKnownClient : held.isKnownClient && held.clientId === known;
    return this.#refusals.filter(isOfGroup).length < mostOfGroup;
  }

  #sendSoon(context: RequestContext<AuditLogBindings>): void {
    if (this.#isSending || context.arrivedAtMs < this.#pausedUntilMs) return;
    this.#isSending = true;
    context.waitUntil(this.#send(context));
  }

  #take(): RequestReport {
    const held = { tokens: this.#tokens, refusals: this.#refusals };
    const omitted = { omittedTokens: this.#omittedTokens, omittedRefusals: this.#omittedRefusals };
    this.#tokens = [];
    this.#refusals = [];
    this.#omittedTokens = 0;
    this.#omittedRefusals = 0;
    return { ...held, ...omitted };
  }

  async #send({ env, settings, requestId }: RequestContext<AuditLogBindings>): Promise<void> {
    await scheduler.wait(gatherMs);
    const report = this.#take();
    const stub = objectStub(settings, env.CONTROL_PLANE, controlPlaneName);
    const call = async (): Promise<ReportResult> => await stub.report(report);
    try {
      const { pauseMs } = await callObject("control plane", call, limits.statisticsCallMs);
      this.#pausedUntilMs = nowMs() + pauseMs;
    } catch (cause) {
      this.#pausedUntilMs = nowMs() + failedPauseMs;
      const tokens = report.tokens.length + report.omittedTokens;
      const refusals = report.refusals.length + report.omittedRefusals;
      log("report-failed", { tokens, refusals, cause: String(cause), requestId });
    } finally {
      this.#isSending = false;
    }
  }
}
