import { WorkerEntrypoint } from "cloudflare:workers";
import { reportFailure } from "@edge-op/shared/http/failure";
import { JsonResponse } from "@edge-op/shared/http/json-response";
import { observeRequest } from "@edge-op/shared/http/observe-request";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { ManagementIsolate } from "../isolate.ts";
import { type TokenValidation, validateToken } from "./validate-token.ts";

/** The name of the method in logs and metrics, where an endpoint has its path. */
const endpoint = "validateToken";
const valid = new JsonResponse(undefined);
/** A call has no headers. */
const head = { method: "RPC", headers: new Headers() };

/**
 * **The entrypoint for resource servers** (ADR 49): Workers of the same account that bind it validate tokens by RPC, without a public request
 * and without credentials. The binding is the permission. A store that does not respond is an error, which resource servers turn into 503.
 * Its memory is that of the isolate: a token that was introspected needs no verification here.
 */
export function createTokenValidation(isolate: ManagementIsolate) {
  return class extends WorkerEntrypoint<ManagementEnv> {
    async validateToken(
      resource: string,
      token: string,
      options?: { readonly checksConfirmation?: boolean },
    ): Promise<TokenValidation | null> {
      // Whatever a caller sends arrives here as it is.
      if (typeof resource !== "string" || typeof token !== "string") {
        throw new TypeError("validateToken takes a resource and a token, which are strings");
      }
      const context = createRequestContext(head, this.env, this.ctx, endpoint);
      const checksConfirmation = options?.checksConfirmation === true;
      try {
        const validation = await validateToken(context, isolate, { resource, token, checksConfirmation });
        observeRequest(context, endpoint, valid);
        return validation;
      } catch (error) {
        const { code, description, status } = reportFailure(error, context.requestId, context.progress);
        observeRequest(context, endpoint, new JsonResponse({ error: code }, { status }));
        // A constant text: it leaves the Worker.
        throw new Error(`${code}: ${description}`);
      }
    }
  };
}
