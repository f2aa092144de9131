import { WorkerEntrypoint } from "cloudflare:workers";
import { reportFailure } from "@edge-op/shared/http/failure";
import { observeRequest } from "@edge-op/shared/http/finish-response";
import { JsonResponse } from "@edge-op/shared/http/json-response";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { ManagementIsolate } from "../isolate.ts";
import { type TokenValidation, validateToken } from "./validate-token.ts";

/** The name of the method in logs and metrics, in place of an endpoint's path. */
const endpoint = "validateToken";
const valid = new JsonResponse(undefined);
/** A call has no headers. */
const head = { method: "RPC", headers: new Headers() };

/**
 * **The entrypoint for resource servers** (ADR 49): Workers of the same account that bind it validate tokens by RPC, without a public request and
 * without credentials. The binding is the permission. An unreachable store is an error, which resource servers turn into 503. It shares the isolate's
 * memory, so an introspected token needs no verification here.
 */
export function createTokenValidation(isolate: ManagementIsolate) {
  return class extends WorkerEntrypoint<ManagementEnv> {
    async validateToken(
      resource: string,
      token: string,
      options?: { readonly checksConfirmation?: boolean },
    ): Promise<TokenValidation | null> {
      // The arguments are unvalidated input of the caller.
      if (typeof resource !== "string" || typeof token !== "string") {
        throw new TypeError("validateToken takes a resource and a token, which are strings");
      }
      const context = createRequestContext(head, this.env, this.ctx, endpoint, isolate.reports);
      const checksConfirmation = options?.checksConfirmation === true;
      try {
        const validation = await validateToken(context, isolate, { resource, token, checksConfirmation });
        observeRequest(context, endpoint, valid);
        return validation;
      } catch (error) {
        const { code, description, status } = reportFailure(error, context);
        observeRequest(context, endpoint, new JsonResponse({ error: code }, { status }));
        // A constant text, because it leaves the Worker.
        throw new Error(`${code}: ${description}`);
      }
    }
  };
}
