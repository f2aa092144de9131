import { readSettings, type Settings, type SettingsVariables } from "../config/settings.ts";
import { nowMs } from "../runtime/clock.ts";
import { type CallCounts, countCalls } from "./count-calls.ts";

/**
 * **One request as the library sees it.** `env` lists the bindings a function needs; a function that needs fewer takes a
 * narrower `Env`. Nothing here is shared between requests.
 */
export interface RequestContext<Env> {
  readonly env: Env;
  readonly settings: Settings;
  /** When the last byte of the request was there: revocation, expiry and rate limits are decided as of this moment. */
  readonly arrivedAtMs: number;
  /** Names the request in logs and in the `Request-Id` header of a 5xx. */
  readonly requestId: string;
  /** Where the request came in, for placing new ids near it; absent in tests and some local runs. */
  readonly cf: Partial<IncomingRequestCfProperties> | undefined;
  /** Present when the deployment shows its costs. */
  readonly counts: CallCounts | undefined;
  /** Assertions this request has spent already: a decision that runs again must not call its own assertion a replay. */
  readonly spentAssertions: Set<string>;
  /** What this request has learnt so far; the only part that changes. */
  readonly progress: {
    /** A shard has answered since arrival, or a lease was valid at arrival: the control version is as fresh as a call. */
    controlConfirmed: boolean;
    /** Where caches note what the present decision reads; absent outside of one. */
    reads?: ReadLog<string> | undefined;
  };
  waitUntil(promise: Promise<unknown>): void;
}

/** Notes the records that a decision reads, before they are read. */
export interface ReadLog<Kind extends string> {
  note(kind: Kind, id: string): void;
}

/** What `createRequestContext` needs of the platform. */
export interface WaitUntil {
  waitUntil(promise: Promise<unknown>): void;
}

/** What is known of a request without its body: `ReceivedRequest` or, where there is no body, the platform's own. */
export interface RequestHead {
  readonly headers: Headers;
  readonly cf?: CfProperties | undefined;
}

/** Created when the request is complete, body included (received-request.ts): its arrival is now. */
export function createRequestContext<Env extends SettingsVariables>(
  request: RequestHead,
  env: Env,
  execution: WaitUntil,
): RequestContext<Env> {
  const arrivedAtMs = nowMs();
  const settings = readSettings(env);
  const counts = settings.serverTiming ? { object: 0, kv: 0, d1: 0 } : undefined;
  let requestId: string | undefined;
  return {
    env: counts === undefined ? env : countCalls(env, counts),
    settings,
    arrivedAtMs,
    // Both are read by few requests, and cost each that reads them.
    get requestId() {
      requestId ??= requestIdOf(request);
      return requestId;
    },
    get cf() {
      return request.cf as Partial<IncomingRequestCfProperties> | undefined;
    },
    counts,
    spentAssertions: new Set(),
    progress: { controlConfirmed: false },
    waitUntil: (promise) => execution.waitUntil(promise),
  };
}

/** The context of the same request at a later moment, when its body is complete: nothing confirmed before counts. */
export function arriveNow<Env>(context: RequestContext<Env>): RequestContext<Env> {
  return { ...context, arrivedAtMs: nowMs(), progress: { controlConfirmed: false } };
}

/** The platform's name for the request where it has one; a new one otherwise, so it is asked for once. */
export function requestIdOf({ headers }: Pick<Request, "headers">): string {
  return headers.get("cf-ray") ?? crypto.randomUUID();
}
