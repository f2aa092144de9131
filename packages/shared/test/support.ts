import {
  applyD1Migrations,
  createExecutionContext,
  type D1Migration,
  reset,
  waitOnExecutionContext,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type CallCounts, countCalls } from "@edge-op/shared/http/count-calls";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import type { ChallengeBindings } from "@edge-op/shared/storage/challenges";
import { afterEach, beforeEach } from "vitest";

export type SharedEnv = ChallengeBindings & { readonly ISSUER: string };
export const sharedEnv = env as unknown as SharedEnv;

/** Every test of the file starts on an empty, migrated deployment. */
export function useStorage(): void {
  const { TEST_MIGRATIONS } = env as unknown as { TEST_MIGRATIONS: D1Migration[] };
  beforeEach(() => applyD1Migrations(sharedEnv.DB, TEST_MIGRATIONS));
  afterEach(() => reset());
}

/** Runs `work` as one request, ended with its background work, and says what it cost. */
export async function withinRequest<T>(
  work: (context: RequestContext<SharedEnv>) => Promise<T>,
  cf: Partial<IncomingRequestCfProperties> = {},
): Promise<{ readonly result: T; readonly counts: CallCounts }> {
  const execution = createExecutionContext();
  const counts = { object: 0, kv: 0, d1: 0 };
  const context = createRequestContext(new Request("https://op.example.com/"), sharedEnv, execution);
  const result = await work({ ...context, env: countCalls(sharedEnv, counts), cf });
  await waitOnExecutionContext(execution);
  return { result, counts };
}
