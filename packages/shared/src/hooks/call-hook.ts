import type { Hooks } from "@edge-op/hooks";
import type { Settings } from "../config/settings.ts";
import { logDecided, type RequestContext } from "../http/request-context.ts";
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
interface HookCaller extends Partial<Pick<RequestContext<unknown>, "requestId" | "progress">> {
  readonly env: HooksBindings;
}

/** The result of a hook, or that it failed, which has been logged. */
type HookResult<Value> =
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
 * **Calls a hook of the operator**, which may throw, take any time and return anything: it never fails the request by itself. `read` turns the result
 * into a value, or throws {@link UnusableResult}. The decision in which it takes part is not remembered. Cost: 1 RPC of a Service Binding.
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

interface ValueLimits {
  /** Characters and members, roughly the bytes of its JSON. */
  readonly size: number;
  /** How deep lists and objects are nested. */
  readonly depth: number;
}

/**
 * **A copy of a value that a hook returned, as JSON has it.** An RPC can return what JSON cannot: cycles, dates, maps, functions, stubs, numbers
 * without a value. Each part counts, also one that is there twice, so that the copy is bounded before it is made. `undefined` members are left out.
 */
export function plainValue(value: unknown, { size, depth }: ValueLimits): unknown {
  let left = size;
  const take = (amount: number) => {
    left -= amount;
    if (left < 0) throw new UnusableResult("the result is too large");
  };
  const copy = (each: unknown, deep: number): unknown => {
    take(1);
    if (each === null || typeof each === "boolean") return each;
    if (typeof each === "string") {
      take(each.length);
      return each.isWellFormed() ? each : unusable("a text that is not Unicode");
    }
    if (typeof each === "number") {
      take(String(each).length);
      // JSON has no negative zero.
      return Number.isFinite(each) ? each + 0 : unusable("a number that JSON does not have");
    }
    if (typeof each !== "object") return unusable(`a ${typeof each}`);
    if (deep >= depth) throw new UnusableResult("the result is nested too deeply");
    if (Array.isArray(each)) return Array.from(each, (item) => copy(item, deep + 1));
    const prototype: unknown = Object.getPrototypeOf(each);
    if (prototype !== Object.prototype && prototype !== null) return unusable("an object that is not plain");
    const members = Object.entries(each).filter(([, member]) => member !== undefined);
    return Object.fromEntries(
      members.map(([name, member]) => {
        take(name.length + 3);
        // As a member of a literal it would set the prototype of a reader's copy.
        if (name === "__proto__") return unusable("a member __proto__");
        return [name, copy(member, deep + 1)];
      }),
    );
  };
  return copy(value, 0);
}

function unusable(what: string): never {
  throw new UnusableResult(`the result contains ${what}`);
}
