import { loggedUri, loggedValue, type OAuthError } from "@edge-op/protocol/oauth/errors";
import { limits } from "../config/limits.ts";
import { formPairs } from "../http/read-form.ts";
import type { RefusalReports, RequestContext, SentRequest } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { callObject, objectStub } from "../storage/call-object.ts";
import { controlPlaneName } from "../storage/shard-address.ts";
import type { AuditLogBindings } from "./admin-event.ts";
import type { IssuedToken, ReportedRefusal, ReportResult, RequestReport, SentParameters } from "./audit-log-rpc.ts";

/** The maximum of each kind in one call; further ones are only counted. */
const mostTokens = 20;
const mostRefusals = 40;
/** Refusals in one call of one known client, and of all senders that name none: half of the places are left to others. */
const mostOfGroup = mostRefusals / 2;
const gatherMs = 1_000;
/** The pause after a failed call. */
const failedPauseMs = 60_000;

/**
 * **Reports issued tokens and refusals of an isolate in the background** (ADR 35, 57): best effort, in batches of one call, as often as the object
 * allows. No request waits for it, and nothing is written on the path of a request. Cost: at most one object call per second, one per five seconds in
 * a busy deployment, and ten per second of all isolates together; none without tokens and refusals.
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

/** The parameters that are kept: those that an administrator compares with a registration. None contains a secret, a token or personal data. */
const uris = ["redirect_uri", "post_logout_redirect_uri", "resource", "audience"];
const words = [
  ...["scope", "grant_type", "response_type", "response_mode", "prompt", "acr_values", "code_challenge_method"],
  ...["subject_token_type", "actor_token_type", "requested_token_type"],
];
const mostValues = 16;
const longestDetail = 1_000;

/** A JWT, or a text as long as 256 random bits: somebody sent a credential in a parameter that has none. */
const credential = /eyJ[\w-]+(?:\.[\w-]*)*|[\w-]{43,}/g;

/**
 * **A refusal as it is reported**: what its log line has, and the parameters of the request that a registration may contradict. A text that could be
 * a credential is not kept, whatever the parameter. Cost: the parameters are read once more.
 */
export function describeRefusal(
  { arrivedAtMs: atMs, requestId, endpoint, method, progress }: RequestContext<unknown>,
  { code, reason, detail }: OAuthError,
  request: SentRequest | undefined,
): ReportedRefusal {
  const { clientId, claimedClientId, namesKnownClient = false } = progress;
  const isKnownClient = clientId !== undefined || (namesKnownClient && claimedClientId !== undefined);
  const named = isKnownClient ? (clientId ?? claimedClientId) : claimedClientId && keptValue(claimedClientId);
  return {
    ...{ atMs, requestId, endpoint, method, clientId: named, isKnownClient, code, reason },
    isAuthenticated: clientId !== undefined,
    detail: detail.slice(0, longestDetail),
    sent: request === undefined ? {} : sentParameters(request, progress.parameters),
  };
}

function keptValue(value: string): string {
  return loggedValue(value.replace(credential, "…"));
}

function keptUri(value: string): string {
  return loggedUri(value).replace(credential, "…");
}

function sentParameters(
  request: SentRequest,
  decided: RequestContext<unknown>["progress"]["parameters"],
): SentParameters {
  const pairs = [...readPairs(request)].slice(0, limits.formParameters);
  const sent: Record<string, readonly string[]> = {};
  const keep = (name: string, values: readonly string[]) => {
    if (values.length > 0) sent[name] = values.slice(0, mostValues);
  };
  const valuesOf = (name: string) =>
    decided?.all(name) ?? pairs.flatMap(([own, value]) => (own === name ? [value] : []));
  for (const name of uris) keep(name, valuesOf(name).map(keptUri));
  for (const name of words) keep(name, valuesOf(name).map(keptValue));
  if (request.method === "POST") keep("token_endpoint_auth_method", presentedMethods(request.headers, pairs));
  return sent;
}

function readPairs({ method, url, text }: SentRequest): Iterable<readonly [string, string]> {
  return method === "POST" ? formPairs(text ?? "") : new URL(url).searchParams;
}

/** Every method of client authentication that the request has. A certificate is not among them: it belongs to the connection. */
function presentedMethods(headers: Headers, pairs: readonly (readonly [string, string])[]): string[] {
  const has = (name: string) => pairs.some(([own]) => own === name);
  const methods = [
    ...(/^Basic /i.test(headers.get("authorization") ?? "") ? ["client_secret_basic"] : []),
    ...(has("client_secret") ? ["client_secret_post"] : []),
    ...(has("client_assertion") ? ["private_key_jwt"] : []),
  ];
  return methods.length === 0 && has("client_id") ? ["none"] : methods;
}
