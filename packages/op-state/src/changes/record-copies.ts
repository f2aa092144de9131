import type { SettingsVariables } from "@edge-op/shared/config/settings";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import { type CacheBindings, type Copy, writeCache } from "@edge-op/shared/storage/kv-cache";
import type { ReadRecord } from "./carried-records.ts";

/**
 * **KV's copies of changed records**, written once for each change: isolates that hold a record receive it with the change, and do not read D1. In
 * the background; a copy that is not written is read from D1 by the isolates that need it. Cost: 1 KV write for each record.
 */
export class RecordCopies {
  readonly #ctx: DurableObjectState;
  readonly #env: SettingsVariables & CacheBindings;

  constructor(ctx: DurableObjectState, env: SettingsVariables & CacheBindings) {
    this.#ctx = ctx;
    this.#env = env;
  }

  /** The records contain every change up to `cv`. */
  write(records: readonly ReadRecord[], cv: number): void {
    const context = createRequestContext(new Request(this.#env.ISSUER), this.#env, this.#ctx);
    for (const { kind, id, ttlSeconds, stored } of records) {
      const copy: Copy<unknown> = { cv, readAtMs: context.arrivedAtMs, value: stored };
      if (stored !== undefined) writeCache(context, `${kind}:${id}`, copy, ttlSeconds);
    }
  }
}
