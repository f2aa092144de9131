import type { OAuthError } from "@edge-op/protocol/oauth/errors";
import { readSettings, type Settings, type SettingsVariables } from "../config/settings.ts";
import { nowMs } from "../runtime/clock.ts";
import { LineBudget } from "../runtime/line-budget.ts";
import { type LogEventName, type LogFields, log } from "../runtime/log.ts";
import { describeDevice } from "./asker.ts";
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
  /** The browser and system of the sender, in words of a fixed vocabulary (asker.ts). Absent for work without a request. */
  readonly device: string | undefined;
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
  /** Where its refusal is reported; absent in Workers and objects that report none. */
  readonly reports: RefusalReports<Env> | undefined;
  /** The state of this request; the only mutable part. */
  readonly progress: {
    /** A shard has responded since arrival, or a lease was valid at arrival: the control version is as fresh as one from a call. */
    controlConfirmed: boolean;
    /** A record that the request needs had no usable copy in KV: others are read from their authority at once. */
    missedCopy?: boolean;
    /** The client, once it has authenticated or its token was verified. */
    clientId?: string | undefined;
    /** The client that the request names: nothing has verified it. */
    claimedClientId?: string | undefined;
    /** A hook took part in the decision, so it is made anew for each request. */
    calledHook?: boolean;
    /** The name of a hook that failed, for the data point. */
    failedHook?: string;
    /** The client that the request names exists. */
    namesKnownClient?: boolean;
    /** The parameters that are decided, if they are not those of the request itself: pushed, or of a request object. */
    parameters?: { all(name: string): readonly string[] };
    /** Caches record the reads of the current decision here; absent outside of one. */
    reads?: ReadLog<string> | undefined;
    /** The nonce for the client's next DPoP proof (RFC 9449 §8.2): a header of the response, whatever it is. */
    dpopNonce?: string;
  };
  waitUntil(promise: Promise<unknown>): void;
}

/** Takes note of refusals, so that an administrator can ask why a request was refused. It does not wait for anything. */
export interface RefusalReports<Env> {
  noteRefusal(context: RequestContext<Env>, refusal: OAuthError, request: SentRequest | undefined): void;
}

/** The sent request, as far as it was kept. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  /** The body of a form. */
  readonly text?: string | undefined;
}

export interface RecordName<Kind extends string> {
  readonly kind: Kind;
  readonly id: string;
}

/** The records that a decision reads (control/read-set.ts). */
export interface ReadLog<Kind extends string> {
  readonly reads: readonly RecordName<Kind>[];
  /** To be called before the record is read, or with the control version that the copy carries. */
  note(kind: Kind, id: string, stamp?: number): void;
  /** The version with which the record was noted; `undefined` if it was not. */
  stampOf(kind: Kind, id: string): number | undefined;
  /** Whether no change that the isolate knows names a record that was read before it. */
  areCurrent(): boolean;
  /** Writes a line to the log when the decision stands; an attempt that is made again writes none. */
  whenDecided(write: () => void): void;
}

/** The platform's objects that `createRequestContext` needs. */
export interface WaitUntil {
  waitUntil(promise: Promise<unknown>): void;
}

/** Points of Analytics Engine, of one or more requests each (request-metrics.ts); absent: none. */
export interface MetricsBindings {
  readonly METRICS?: AnalyticsEngineDataset;
}

/** A request without its body: `ReceivedRequest` or, where there is no body, the platform's own. */
interface RequestHead {
  readonly method?: string;
  readonly headers: Headers;
  readonly cf?: CfProperties | undefined;
}

type CreatedEnv = SettingsVariables & MetricsBindings;

/** A class, because an object literal with four accessors costs five times as much as an instance: each request makes one. */
class CreatedContext<Env extends CreatedEnv> implements RequestContext<Env> {
  readonly env: Env;
  readonly settings: Settings;
  readonly arrivedAtMs = nowMs();
  readonly endpoint: string | undefined;
  readonly method: string | undefined;
  readonly isSampled: boolean;
  readonly metrics: AnalyticsEngineDataset | undefined;
  readonly counts: CallCounts | undefined;
  readonly reports: RefusalReports<Env> | undefined;
  readonly spentAssertions = new Set<string>();
  readonly progress = { controlConfirmed: false };
  readonly waitUntil: (promise: Promise<unknown>) => void;
  readonly #request: RequestHead;
  /** Few requests use it, and creating it has a cost. */
  #requestId: string | undefined;

  constructor(
    request: RequestHead,
    env: Env,
    execution: WaitUntil,
    endpoint: string | undefined,
    reports: RefusalReports<Env> | undefined,
  ) {
    this.settings = readSettings(env);
    this.isSampled = endpoint !== undefined && isSampled(this.settings.requestLogPercent, this.arrivedAtMs);
    this.counts = this.settings.serverTiming || this.isSampled ? { object: 0, kv: 0, d1: 0, rows: 0 } : undefined;
    this.env = this.counts === undefined ? env : countCalls(env, this.counts);
    this.endpoint = endpoint;
    this.reports = reports;
    this.method = request.method;
    this.metrics = env.METRICS;
    this.waitUntil = (promise) => execution.waitUntil(promise);
    this.#request = request;
  }

  get requestId(): string {
    this.#requestId ??= requestIdOf(this.#request);
    return this.#requestId;
  }

  get network(): string | undefined {
    return senderNetwork({ cf: this.cf, settings: this.settings }, this.#request);
  }

  get cf(): Partial<IncomingRequestCfProperties> | undefined {
    return this.#request.cf as Partial<IncomingRequestCfProperties> | undefined;
  }

  get device(): string {
    return describeDevice(this.#request.headers.get("user-agent"));
  }

  get traceId(): string | undefined {
    return /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(this.#request.headers.get("traceparent") ?? "")?.[1];
  }
}

/** A line costs twice as much CPU as an introspection: of many requests a second, some suffice. */
const sampledLines = new LineBudget({ perSecond: 10, burst: 20 });

function isSampled(percent: number, atMs: number): boolean {
  if (percent === 100) return true;
  return Math.random() * 100 < percent && sampledLines.take(atMs);
}

/** Created when the request is complete, body included (received-request.ts): its arrival is now. */
export function createRequestContext<Env extends SettingsVariables>(
  request: RequestHead,
  env: Env & MetricsBindings,
  execution: WaitUntil,
  endpoint?: string,
  reports?: RefusalReports<NoInfer<Env>>,
): RequestContext<Env> {
  return new CreatedContext(request, env, execution, endpoint, reports);
}

/** The properties that a context reads from its request through private members, which an object derived from it does not have. */
const readFromRequest = ["requestId", "network", "cf", "device", "traceId"] as const;

/** The context of the same request with other members. A copy by spread would read everything from the request. */
export function withMembers<Env>(
  context: RequestContext<unknown>,
  members: Partial<RequestContext<Env>>,
): RequestContext<Env> {
  const readers = Object.fromEntries(readFromRequest.map((name) => [name, { get: () => context[name] }]));
  const descriptors = { ...readers, ...Object.getOwnPropertyDescriptors(members) };
  return Object.create(context, descriptors) as RequestContext<Env>;
}

/** The context of the same request when its body is complete; earlier confirmations do not count. */
export function arriveNow<Env>(context: RequestContext<Env>): RequestContext<Env> {
  return withMembers<Env>(context, { arrivedAtMs: nowMs(), progress: { controlConfirmed: false } });
}

/** The platform's id of the request if it has one, else a new one; read once. */
export function requestIdOf({ headers }: Pick<Request, "headers">): string {
  return headers.get("cf-ray") ?? crypto.randomUUID();
}

/** Per request; an entry is collected with its request. */
const operations = new WeakMap<object, string>();

/**
 * **The id of the operation that a request performs**: the same however often its decision is repeated or a call is sent again after a lost response,
 * and never chosen by the caller. Objects use it to find their own earlier result.
 */
export function operationId(context: object): string {
  const known = operations.get(context);
  if (known !== undefined) return known;
  const id = crypto.randomUUID();
  operations.set(context, id);
  return id;
}

/**
 * **Logs what a decision has found**, once it stands: an attempt that is made again logs nothing (control/settle.ts). Outside of a decision, at once.
 */
export function logDecided<Name extends LogEventName>(
  { progress }: Pick<RequestContext<unknown>, "progress">,
  event: Name,
  fields: LogFields<Name>,
): void {
  const write = () => log(event, fields);
  if (progress.reads === undefined) write();
  else progress.reads.whenDecided(write);
}
