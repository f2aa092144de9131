/**
 * **The objects of op-state, made to fail on demand**: an entry point that tests run in op-state's place. Production code has no switch for it. On
 * this Worker's own socket, `PUT /faults` replaces the current faults; `GET /calls` returns how often each method was called; `POST
 * /end/TokenRevocationStore/{name}` ends an instance, even one that holds calls, with `?empty={table}` after deleting the rows of a table, as in an
 * object that was lost.
 */

import type { DurableObject } from "cloudflare:workers";
import * as objects from "../../packages/op-state/src/index.ts";

export interface Fault {
  readonly className: string;
  /** Object names; absent: all objects of the class. */
  readonly names?: readonly string[];
  /** Methods; absent: all methods. */
  readonly methods?: readonly string[];
  /** `throw` before anything is done; `lose` the result after everything is done; `hang` forever; `delay` by `ms` first. */
  readonly kind: "throw" | "lose" | "hang" | "delay";
  readonly ms?: number;
  /** The number of calls that fail; absent: all of them. */
  readonly times?: number;
}

let faults: { fault: Fault; left: number }[] = [];
const calls = new Map<string, number>();

function takeFault(className: string, name: string | undefined, method: string): Fault | undefined {
  const found = faults.find(
    ({ fault, left }) =>
      left > 0 &&
      fault.className === className &&
      (fault.methods?.includes(method) ?? true) &&
      (fault.names === undefined || (name !== undefined && fault.names.includes(name))),
  );
  if (found === undefined) return undefined;
  found.left -= 1;
  return found.fault;
}

type ObjectClass = new (ctx: DurableObjectState, env: never) => DurableObject;
type Method = (this: DurableObject, ...args: unknown[]) => unknown;

async function fail(fault: Fault | undefined, name: string): Promise<void> {
  if (fault?.kind === "throw") throw new Error(`${name} fails by order of a test`);
  if (fault?.kind === "hang") await new Promise(() => {});
  if (fault?.kind === "delay") await scheduler.wait(fault.ms ?? 0);
}

function withFaultyDatabase<Env extends { readonly DB: D1Database }>(env: Env): Env {
  const database = new Proxy(env.DB, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      if (property !== "batch") return (...args: unknown[]): unknown => Reflect.apply(value, target, args);
      return async (...args: unknown[]) => {
        await fail(takeFault("D1", undefined, "batch"), "D1.batch");
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  return { ...env, DB: database };
}

function faulty(className: string, base: ObjectClass): ObjectClass {
  class Faulty extends base {
    readonly objectName: string | undefined;

    constructor(ctx: DurableObjectState, env: never) {
      super(ctx, withFaultyDatabase(env) as never);
      this.objectName = ctx.id.name;
    }

    /** Ends this instance with every call in progress; the next call starts another one from storage. */
    async endInstance(empty: string | null): Promise<void> {
      if (empty !== null) {
        this.ctx.storage.sql.exec(`DELETE FROM "${empty}"`);
        await this.ctx.storage.sync();
      }
      this.ctx.abort("ended by order of a test");
    }
  }
  for (const method of Object.getOwnPropertyNames(base.prototype)) {
    const original: unknown = Reflect.get(base.prototype, method);
    if (method === "constructor" || typeof original !== "function") continue;
    const failing: Method = async function (this: DurableObject, ...args) {
      calls.set(`${className}.${method}`, (calls.get(`${className}.${method}`) ?? 0) + 1);
      const fault = takeFault(className, (this as Faulty).objectName, method);
      await fail(fault, `${className}.${method}`);
      const result: unknown = await Reflect.apply(original, this, args);
      if (fault?.kind === "lose") throw new Error(`the reply of ${className}.${method} is lost by order of a test`);
      return result;
    };
    Object.defineProperty(Faulty.prototype, method, { value: failing, configurable: true, writable: true });
  }
  return Faulty;
}

export const TokenRevocationStore = faulty("TokenRevocationStore", objects.TokenRevocationStore);
export const RevocationRelay = faulty("RevocationRelay", objects.RevocationRelay);
export const RefreshTokenRotator = faulty("RefreshTokenRotator", objects.RefreshTokenRotator);
export const KeyManager = faulty("KeyManager", objects.KeyManager);
export const AuthorizationCodeStore = faulty("AuthorizationCodeStore", objects.AuthorizationCodeStore);
export const SessionStore = faulty("SessionStore", objects.SessionStore);
export const ChallengeStore = faulty("ChallengeStore", objects.ChallengeStore);
export const MailSender = faulty("MailSender", objects.MailSender);
export const ControlPlane = faulty("ControlPlane", objects.ControlPlane);

interface ObjectBindings {
  readonly TOKEN_REVOCATION_STORE: DurableObjectNamespace;
  readonly REVOCATION_RELAY: DurableObjectNamespace;
  readonly REFRESH_TOKEN_ROTATOR: DurableObjectNamespace;
  readonly CONTROL_PLANE: DurableObjectNamespace;
}

function namespaces(env: ObjectBindings): Readonly<Record<string, DurableObjectNamespace>> {
  return {
    TokenRevocationStore: env.TOKEN_REVOCATION_STORE,
    RevocationRelay: env.REVOCATION_RELAY,
    RefreshTokenRotator: env.REFRESH_TOKEN_ROTATOR,
    ControlPlane: env.CONTROL_PLANE,
  };
}

export default {
  async fetch(request, env): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (request.method === "PUT" && pathname === "/faults") {
      const wanted = await request.json<Fault[]>();
      faults = wanted.map((fault) => ({ fault, left: fault.times ?? Number.POSITIVE_INFINITY }));
      return new Response(null, { status: 204 });
    }
    if (pathname === "/calls") return Response.json(Object.fromEntries(calls));
    const [, action, className, name] = pathname.split("/");
    const namespace = action === "end" ? namespaces(env)[className ?? ""] : undefined;
    if (request.method === "POST" && namespace !== undefined && name !== undefined) {
      const instance = namespace.getByName(decodeURIComponent(name)) as unknown as {
        endInstance(empty: string | null): Promise<void>;
      };
      // The call ends with the instance.
      await instance.endInstance(searchParams.get("empty")).catch((error: unknown) => console.log(String(error)));
      return new Response(null, { status: 204 });
    }
    return new Response("no such thing", { status: 404 });
  },
} satisfies ExportedHandler<ObjectBindings>;
