import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { ChallengeBindings } from "@edge-op/shared/grants/challenges";
import { type CallCounts, countCalls } from "@edge-op/shared/http/count-calls";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";

export type SharedEnv = ChallengeBindings & { readonly ISSUER: string };
export const sharedEnv = env as unknown as SharedEnv;

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
