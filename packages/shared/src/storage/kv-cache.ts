/**
 * **Reads and writes KV within a time limit.** KV holds only copies, so a failed or late read is a miss and a failed or late write is a later miss.
 * Both are logged and fail no request. KV stores its values in every region, so a deployment with a jurisdiction does not use it.
 */

import { limits } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import { within } from "../runtime/deadline.ts";
import { log } from "../runtime/log.ts";

export interface CacheBindings {
  readonly CACHE: KVNamespace;
}

/** The value of a record in KV, under the key `{kind}:{id}`. */
export interface Copy<Stored> {
  /** The record contains every change up to this control version. */
  readonly cv: number;
  readonly readAtMs: number;
  readonly value: Stored;
}

export async function readCache<Value>(
  context: RequestContext<CacheBindings>,
  key: string,
): Promise<Value | undefined> {
  if (context.settings.jurisdiction !== "none") return undefined;
  try {
    return (await within(limits.cacheReadMs, context.env.CACHE.get<Value>(key, "json"), late)) ?? undefined;
  } catch (cause) {
    log("kv-read-failed", { key, cause: String(cause), requestId: context.requestId });
    return undefined;
  }
}

type WritingContext = Pick<RequestContext<CacheBindings>, "env" | "settings" | "requestId" | "waitUntil">;

/** Runs in the background; no request waits for it. */
export function writeCache(context: WritingContext, key: string, value: unknown, ttlSeconds: number): void {
  if (context.settings.jurisdiction !== "none") return;
  context.waitUntil(write(context, key, JSON.stringify(value), ttlSeconds));
}

async function write(context: WritingContext, key: string, text: string, expirationTtl: number): Promise<void> {
  try {
    await within(limits.cacheWriteMs, context.env.CACHE.put(key, text, { expirationTtl }), late);
  } catch (cause) {
    log("kv-write-failed", { key, cause: String(cause), requestId: context.requestId });
  }
}

function late(): never {
  throw new Error("no response in time");
}
