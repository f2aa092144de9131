import type { Hooks } from "@edge-op/hooks";
import type { Settings } from "../config/settings.ts";
import { logDecided } from "../control/log-decided.ts";
import type { RequestContext } from "../http/request-context.ts";
import { within } from "../runtime/deadline.ts";

export type { SignInVerdict, SignUpEvent } from "@edge-op/hooks";
export type HookName = keyof Hooks;

/** The operator's Worker, over a Service Binding. What it returns is not trusted. */
export type HooksWorker = {
  readonly [Name in HookName]: (request: Parameters<NonNullable<Hooks[Name]>>[0]) => Promise<unknown>;
};

export interface HooksBindings {
  /** Absent unless the deployment binds a Worker of the operator's. */
  readonly HOOKS?: HooksWorker;
}

/** How long a hook may take, in milliseconds. A person or an application waits for `claims`, `beforeSignIn` and `legacyPassword`. */
export const hookDeadlineMs: Readonly<Record<HookName, number>> = {
  claims: 1_000,
  beforeSignIn: 2_000,
  legacyPassword: 2_000,
  mail: 10_000,
  afterSignUp: 20_000,
};

/** Where a hook is called; without `progress` and `requestId`, in the background of an object. */
export interface HookCaller extends Partial<Pick<RequestContext<unknown>, "requestId" | "progress">> {
  readonly env: HooksBindings;
}

/** The result of a hook, or that it failed, which has been logged. */
export type HookResult<Value> =
  | { readonly kind: "answered"; readonly value: Value }
  | { readonly kind: "failed"; readonly cause: string };

/** The result of the operator's Worker cannot be used; the message says why. */
export class UnusableResult extends Error {
  override readonly name = "UnusableResult";
}

/** Whether a request is to call the hook. Costs nothing. */
export function isHookEnabled(
  { settings }: { readonly settings: Pick<Settings, "enabledHooks"> },
  name: keyof Settings["enabledHooks"],
): boolean {
  return settings.enabledHooks[name] !== undefined;
}

/**
 * **Calls a hook of the operator**, which may throw, take any time and return anything: it never fails the request by itself. `read` turns the result into a
 * value, or throws {@link UnusableResult}. The decision in which it takes part is not remembered. Cost: 1 RPC of a Service Binding.
 */
export async function callHook<Name extends HookName, Value>(
  { env, requestId, progress = { controlConfirmed: false } }: HookCaller,
  name: Name,
  request: Parameters<HooksWorker[Name]>[0],
  read: (result: unknown) => Value,
): Promise<HookResult<Value>> {
  progress.calledHook = true;
  try {
    const worker = env.HOOKS as Readonly<Record<HookName, (request: unknown) => Promise<unknown>>> | undefined;
    if (worker === undefined) throw new UnusableResult("no Worker is bound as HOOKS");
    const ms = hookDeadlineMs[name];
    const result = await within(ms, Promise.resolve(worker[name](request)), () => {
      throw new UnusableResult(`no response within ${ms} ms`);
    });
    return { kind: "answered", value: read(result) };
  } catch (error) {
    const cause = causeOf(error);
    progress.failedHook = name;
    logDecided({ progress }, "hook-failed", { hook: name, cause, requestId });
    return { kind: "failed", cause };
  }
}

const longestCause = 200;

/** A hook may throw anything, and an error whose name and message are no texts. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const shorten = (text: unknown) => (typeof text === "string" ? text.slice(0, longestCause) : typeof text);
  return shorten(`${shorten(error.name)}: ${shorten(error.message)}`);
}
