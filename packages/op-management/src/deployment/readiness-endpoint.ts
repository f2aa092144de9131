import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import type { AuditLogStatus } from "@edge-op/shared/audit/audit-log-rpc";
import { limits } from "@edge-op/shared/config/limits";
import { controlPlane } from "@edge-op/shared/control/commit-control-change";
import { JsonResponse } from "@edge-op/shared/http/json-response";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { RevocationStatistics } from "@edge-op/shared/leases/revocation-shard-rpc";
import { type MailSenderRpc, type MailStatus, mailSenderName } from "@edge-op/shared/mail/mail-sender-rpc";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { callObject, objectStub, shardStub } from "@edge-op/shared/storage/call-object";
import { type Generation, retirementDueMs } from "@edge-op/shared/storage/generation-table";
import { queryAuditDatabase, queryDatabase } from "@edge-op/shared/storage/query-database";
import { objectName } from "@edge-op/shared/storage/shard-address";
import type { ManagementEnv } from "@edge-op/workers/env";
import { authorizeAdmin } from "../admin/authorize-admin.ts";
import type { ManagementIsolate } from "../isolate.ts";

/**
 * **`GET /ready`**: 200 if this deployment can decide requests, else 503 with `Retry-After`. With an access token that has the scope `admin:shards`,
 * the response contains the result of each check; without one, only its status is informative. Cost: at most one check per isolate and five seconds.
 * `GET /health` only shows that the front door runs, and accesses no store.
 */
export async function readinessEndpoint(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  checks: ReadinessChecks,
  request: ReceivedRequest,
): Promise<JsonResponse> {
  const isDetailed = request.headers.has("authorization");
  if (isDetailed) await authorizeAdmin(context, isolate, request, "admin:shards");
  const readiness = await checks.check(context, isolate);
  const body = { status: readiness.ready ? "ready" : "unready", ...(isDetailed ? { checks: readiness.checks } : {}) };
  return readiness.ready
    ? new JsonResponse(body)
    : new JsonResponse(body, { status: 503, headers: { "Retry-After": "5" } });
}

interface Readiness {
  readonly ready: boolean;
  readonly checks: readonly Check[];
}

interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** Whether requests fail without it. */
  readonly required: boolean;
  readonly detail?: string;
}

const reuseMs = 5_000;
/** The maximum number of shards that are called; the newest ones. */
const calledShards = 64;
/** A provider of mail that does not accept a mail for this long is not just busy. */
const lateMailMs = 600_000;
/** Events are usually confirmed within 20 seconds, and sent again after a minute. */
const lateOutboxMs = 600_000;

/** A retirement is an alarm away, unless D1 or the control plane does not respond. */
const lateRetirementMs = 3_600_000;

type Context = RequestContext<ManagementEnv>;

/**
 * **Checks the dependencies of requests**: D1, a signing key and the revocation shards. Retirements, the audit and mail are reported and do not make
 * the provider unready, because no request waits for them. A result is used for {@link reuseMs}, and concurrent requests share one check, so an
 * isolate checks at most that often, regardless of the number of requests. Each part is limited to `statisticsCallMs`.
 */
export class ReadinessChecks {
  #latest: { readonly atMs: number; readonly result: Promise<Readiness> } | undefined;

  check(context: Context, isolate: ManagementIsolate): Promise<Readiness> {
    const atMs = context.arrivedAtMs;
    if (this.#latest === undefined || atMs >= this.#latest.atMs + reuseMs || atMs < this.#latest.atMs) {
      this.#latest = { atMs, result: checkAll(context, isolate) };
    }
    return this.#latest.result;
  }
}

async function checkAll(context: Context, isolate: ManagementIsolate): Promise<Readiness> {
  const { DB, AUDIT_DB } = context.env;
  const checks = await Promise.all([
    check("d1", true, () => queryDatabase(() => DB.prepare("SELECT 1").first(), limits.statisticsCallMs)),
    check("keys", true, () => isolate.keyRing.requireSigner(context, context.settings.accessTokenAlgorithm)),
    check("shards", true, () => callShards(context, isolate)),
    check("generations", false, () => requireRetired(context, isolate)),
    check("audit-database", false, () =>
      queryAuditDatabase(() => AUDIT_DB.prepare("SELECT 1").first(), limits.statisticsCallMs),
    ),
    check("audit-outbox", false, () => requireRecentOutbox(context)),
    ...(context.settings.mailProvider === "off" ? [] : [check("mail", false, () => requireDelivery(context))]),
  ]);
  return { ready: checks.every(({ ok, required }) => ok || !required), checks };
}

async function check(name: string, required: boolean, work: () => Promise<unknown>): Promise<Check> {
  try {
    await work();
    return { name, required, ok: true };
  } catch (error) {
    const cause = error instanceof UnavailableError ? error.cause : error;
    return { name, required, ok: false, detail: cause instanceof Error ? cause.message : String(cause) };
  }
}

async function callShards(context: Context, isolate: ManagementIsolate): Promise<void> {
  const table = await isolate.shardMap.table(context);
  const live = table.live("revocation").sort((a, b) => b.generation - a.generation);
  const { env, settings } = context;
  const calls = live.slice(0, calledShards).map(async (address) => {
    const stub = shardStub(
      settings,
      env.TOKEN_REVOCATION_STORE,
      "revocation",
      address,
      table.find("revocation", address),
    );
    const name = objectName("revocation", address);
    const call = async (): Promise<RevocationStatistics> => await stub.statistics();
    try {
      await callObject(name, call, limits.statisticsCallMs);
      return [];
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      return [name];
    }
  });
  const silent = (await Promise.all(calls)).flat();
  if (silent.length > 0) throw new Error(`not responding: ${silent.join(", ")}`);
}

/** Generations are retired by the alarm of `ControlPlane`; one that is not stays in use. */
async function requireRetired(context: Context, isolate: ManagementIsolate): Promise<void> {
  const { all } = await isolate.shardMap.table(context);
  const isLate = ({ store, mintedUntilMs, retired }: Generation) =>
    !retired && mintedUntilMs !== undefined && retirementDueMs(store, mintedUntilMs) + lateRetirementMs <= nowMs();
  const late = all.filter(isLate).map(({ store, generation }) => `${store} ${generation}`);
  if (late.length > 0) throw new Error(`not retired: ${late.join(", ")}`);
}

async function requireRecentOutbox(context: Context): Promise<void> {
  const stub = controlPlane(context);
  const call = async (): Promise<AuditLogStatus> => await stub.auditStatus();
  const { oldestUnconfirmedAtMs } = await callObject("control plane", call, limits.statisticsCallMs);
  const lagMs = oldestUnconfirmedAtMs === undefined ? 0 : nowMs() - oldestUnconfirmedAtMs;
  if (lagMs > lateOutboxMs) throw new Error(`the oldest event has waited ${Math.round(lagMs / 1000)} s`);
}

async function requireDelivery({ env, settings }: Context): Promise<void> {
  const stub = objectStub<MailSenderRpc>(settings, env.MAIL_SENDER, mailSenderName);
  const call = async (): Promise<MailStatus> => await stub.status();
  const { refused, refusedSinceMs } = await callObject("mail sender", call, limits.statisticsCallMs);
  const lateMs = refusedSinceMs === undefined ? 0 : nowMs() - refusedSinceMs;
  if (lateMs > lateMailMs) throw new Error(`${refused} mails wait, the oldest for ${Math.round(lateMs / 1000)} s`);
}
