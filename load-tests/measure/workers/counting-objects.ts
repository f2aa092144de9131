/**
 * **The objects of op-state with counters**: calls by method and by object, and rows written by class. `GET /counted` on this Worker's own socket
 * returns the totals. For measurements; production code counts nothing.
 */

import type { DurableObject } from "cloudflare:workers";
import * as objects from "../../../packages/op-state/src/index.ts";

interface Counted {
  readonly methods: Record<string, number>;
  readonly objects: Record<string, number>;
  readonly rowsWritten: Record<string, number>;
}

const counted: Counted = { methods: {}, objects: {}, rowsWritten: {} };

function add(to: Record<string, number>, key: string, count = 1): void {
  to[key] = (to[key] ?? 0) + count;
}

type ObjectClass = new (ctx: DurableObjectState, env: never) => DurableObject;
type Method = (this: DurableObject, ...args: unknown[]) => unknown;

/** The rows that a statement writes are known when it returns, because only reads are executed during iteration. */
function countRows(sql: SqlStorage, className: string): void {
  const exec = sql.exec.bind(sql);
  Object.defineProperty(sql, "exec", {
    value: (query: string, ...bindings: unknown[]) => {
      const cursor = exec(query, ...bindings);
      if (cursor.rowsWritten > 0) add(counted.rowsWritten, className, cursor.rowsWritten);
      return cursor;
    },
  });
}

function counting(className: string, base: ObjectClass): ObjectClass {
  class CountingObject extends base {
    readonly objectName: string;

    constructor(ctx: DurableObjectState, env: never) {
      countRows(ctx.storage.sql, className);
      super(ctx, env);
      this.objectName = ctx.id.name ?? ctx.id.toString();
    }
  }
  for (const method of Object.getOwnPropertyNames(base.prototype)) {
    const original: unknown = Reflect.get(base.prototype, method);
    if (method === "constructor" || typeof original !== "function") continue;
    const countingMethod: Method = function (this: DurableObject, ...args) {
      add(counted.methods, `${className}.${method}`);
      add(counted.objects, `${className} ${(this as CountingObject).objectName}`);
      return Reflect.apply(original, this, args);
    };
    Object.defineProperty(CountingObject.prototype, method, { value: countingMethod, configurable: true });
  }
  return CountingObject;
}

export const TokenRevocationStore = counting("TokenRevocationStore", objects.TokenRevocationStore);
export const RevocationRelay = counting("RevocationRelay", objects.RevocationRelay);
export const RefreshTokenRotator = counting("RefreshTokenRotator", objects.RefreshTokenRotator);
export const KeyManager = counting("KeyManager", objects.KeyManager);
export const AuthorizationCodeStore = counting("AuthorizationCodeStore", objects.AuthorizationCodeStore);
export const SessionStore = counting("SessionStore", objects.SessionStore);
export const ChallengeStore = counting("ChallengeStore", objects.ChallengeStore);
export const MailSender = counting("MailSender", objects.MailSender);
export const ControlPlane = counting("ControlPlane", objects.ControlPlane);

export default {
  fetch: () => Response.json(counted),
} satisfies ExportedHandler;
