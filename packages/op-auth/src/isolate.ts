import { createClientIsolate } from "@edge-op/shared/client-auth/client-isolate";
import { AuthorizationCodes } from "@edge-op/shared/grants/authorization-codes";
import { Sessions } from "@edge-op/shared/grants/sessions";

/** **The state that an isolate of op-auth keeps between requests.** */
export function createIsolate() {
  const isolate = createClientIsolate();
  return { ...isolate, codes: new AuthorizationCodes(isolate.shardMap), sessions: new Sessions(isolate.shardMap) };
}

export type AuthIsolate = ReturnType<typeof createIsolate>;
