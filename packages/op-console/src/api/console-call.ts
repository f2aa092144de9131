import type { BrandingVariables } from "@edge-op/pages/branding";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { ConsoleBindings } from "@edge-op/workers/env";

/** Calls another Worker for this request: over a service binding, or as a function in the compact shape. */
export type CallWorker = (worker: Callee, url: string, init: RequestInit) => Promise<Response>;

/** **One request to the console.** */
export interface ConsoleCall {
  readonly context: RequestContext<OwnEnv>;
  readonly request: ReceivedRequest;
  readonly call: CallWorker;
}

/** The sender's headers that the audit log and rate limits read. */
const passedOn = ["cf-connecting-ip", "x-forwarded-for", "cf-ray", "traceparent"];

/** The request to another Worker, as sent by the person's browser. */
export function requestFor(
  { context, request }: Pick<ConsoleCall, "context" | "request">,
  url: string,
  init: RequestInit,
): Request {
  const headers = new Headers(init.headers);
  for (const name of passedOn) {
    const value = request.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return new Request(url, {
    ...init,
    headers,
    redirect: "manual",
    ...(context.cf === undefined ? {} : { cf: context.cf as RequestInitCfProperties }),
  });
}

/** **The bindings and variables of op-console**: two Workers, no store, and the settings of the pages. */
export type ConsoleEnv = ConsoleBindings & BrandingVariables;

/** The Workers that the console calls. */
export type Callee = "TOKEN" | "MANAGEMENT";

/** The bindings that the console's own code reads. */
export type OwnEnv = Omit<ConsoleEnv, Callee>;
