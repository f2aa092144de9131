import { readSettings, type Settings, type SettingsVariables } from "../config/settings.ts";
import { nowMs } from "../runtime/clock.ts";
import { senderNetwork } from "./client-address.ts";
import { type CallCounts, countCalls } from "./count-calls.ts";

/**
 * **One request.** `env` contains the bindings; a function that needs fewer takes a narrower `Env`. Nothing here is shared between
 * requests.
 */
export interface RequestContext<Env> {
  readonly env: Env;
  readonly settings: Settings;
  /** When the last byte of the request arrived: revocation, expiry and rate limits are decided as of this moment. */
  readonly arrivedAtMs: number;
  /** Names the request in logs and in the `Request-Id` header of an error. */
  readonly requestId: string;
  /** The sender's network, for audit events; `undefined` where it is not known. */
  readonly network: string | undefined;
  /** The location where the request arrived, to place new ids near it; absent in tests and some local runs. */
  readonly cf: Partial<IncomingRequestCfProperties> | undefined;
  /** The path as it is routed, and the method. Absent for work without a request. */
  readonly endpoint: string | undefined;
  readonly method: string | undefined;
  /** The trace of the caller (W3C Trace Context), for the log. */
  readonly traceId: string | undefined;
  /** Whether the request is logged if it succeeds. */
  readonly isSampled: boolean;
  readonly metrics: AnalyticsEngineDataset | undefined;
  /** Present if `SERVER_TIMING` is enabled, and for a sampled request. */
  readonly counts: CallCounts | undefined;
  /** The assertions that this request has used: a repeated decision must not treat its own assertion as a replay. */
  readonly spentAssertions: Set<string>;
  /** The state of this request; the only mutable part. */
  readonly progress: {
    /** A shard has responded since arrival, or a lease was valid at arrival: the control version is as fresh as one from a call. */
    controlConfirmed: boolean;
    /** The client, once it has authenticated or its token was verified. */
    clientId?: string | undefined;
    /** Caches record the reads of the current decision here; absent outside of one. */
    reads?: ReadLog<string> | undefined;
    /** The nonce for the client's next DPoP proof (RFC 9449 §8.2): a header of the response, whatever it is. */
    dpopNonce?: string;
  };
  waitUntil(promise: Promise<unknown>): void;
}

/** Notes the records that a decision reads, before they are read. */
export interface ReadLog<Kind extends string> {
  /** The control version that the isolate knew when the decision began. */
  readonly beganAt: number | undefined;
  note(kind: Kind, id: string): void;
}

/** The platform's objects that `createRequestContext` needs. */
export interface WaitUntil {
  waitUntil(promise: Promise<unknown>): void;
}

/** Points of Analytics Engine, one per request (docs/operating/monitor.md); absent: none. */
export interface MetricsBindings {
  readonly METRICS?: AnalyticsEngineDataset;
}

/** A request without its body: `ReceivedRequest` or, where there is no body, the platform's own. */
export interface RequestHead {
  readonly method?: string;
  readonly headers: Headers;
  readonly cf?: CfProperties | undefined;
}

/** Created when the request is complete, body included (received-request.ts): its arrival is now. */
export function createRequestContext<Env extends SettingsVariables>(
  request: RequestHead,
  env: Env & MetricsBindings,
  execution: WaitUntil,
  endpoint?: string,
): RequestContext<Env> {
  const arrivedAtMs = nowMs();
  const settings = readSettings(env);
  const isSampled = endpoint !== undefined && Math.random() * 100 < settings.requestLogPercent;
  const counts = settings.serverTiming || isSampled ? { object: 0, kv: 0, d1: 0 } : undefined;
  let requestId: string | undefined;
  return {
    env: counts === undefined ? env : countCalls(env, counts),
    settings,
    arrivedAtMs,
    // Few requests use both, and creating them has a cost.
    get requestId() {
      requestId ??= requestIdOf(request);
      return requestId;
    },
    get network() {
      return senderNetwork({ cf: request.cf as Partial<IncomingRequestCfProperties> | undefined, settings }, request);
    },
    get cf() {
      return request.cf as Partial<IncomingRequestCfProperties> | undefined;
    },
    endpoint,
    method: request.method,
    get traceId() {
      return /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(request.headers.get("traceparent") ?? "")?.[1];
    },
    isSampled,
    metrics: env.METRICS,
    counts,
    spentAssertions: new Set(),
    progress: { controlConfirmed: false },
    waitUntil: (promise) => execution.waitUntil(promise),
  };
}

/** The context of the same request when its body is complete; earlier confirmations do not count. */
export function arriveNow<Env>(context: RequestContext<Env>): RequestContext<Env> {
  return { ...context, arrivedAtMs: nowMs(), progress: { controlConfirmed: false } };
}

/** The platform's id of the request if it has one, else a new one; read once. */
export function requestIdOf({ headers }: Pick<Request, "headers">): string {
  return headers.get("cf-ray") ?? crypto.randomUUID();
}
