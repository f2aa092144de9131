import { WorkerEntrypoint } from "cloudflare:workers";
import { isSameResource } from "@edge-op/protocol/oauth/resource-indicator";
import { readAhead } from "@edge-op/shared/callers/read-ahead";
import { settle } from "@edge-op/shared/control/settle";
import { reportFailure } from "@edge-op/shared/http/failure";
import { observeRequest } from "@edge-op/shared/http/finish-response";
import { JsonResponse } from "@edge-op/shared/http/json-response";
import { createRequestContext, logDecided, type RequestContext } from "@edge-op/shared/http/request-context";
import { readAccessToken, revocationSubjects } from "@edge-op/shared/tokens/access-token";
import type { AccessToken } from "@edge-op/shared/tokens/verified-tokens";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { ManagementIsolate } from "../isolate.ts";
import { describeAccessToken, type IntrospectionResponse } from "./introspection-response.ts";

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

/** A resource server's question about a token, sent to the Worker that it has bound. */
interface ValidationRequest {
  readonly resource: string;
  readonly token: string;
  /** The resource server verifies the proof of the key that `cnf` names. */
  readonly checksConfirmation: boolean;
}

/**
 * The result for a valid token. Its members and types are those of `@cloudflare/workers-oauth-provider` 1.2, whose resource server accepts it, and
 * `cnf`.
 */
interface TokenValidation {
  readonly props: Omit<IntrospectionResponse, "active">;
  readonly audience: string;
  readonly expiresAt: number;
  readonly scope: string[];
  /** The `sub` of the token: pairwise if the client's subjects are. */
  readonly userId: string;
  readonly clientId: string;
  readonly cnf?: { readonly jkt: string } | { readonly "x5t#S256": string };
}

/**
 * **Validates an access token for a resource** (ADR 49): `null` unless it verifies, its `aud` contains the resource, and it is not revoked. For a
 * caller that does not check the key, the result for a bound token is `null`. Cost warm: 0 calls (`direct`: 1 object call); 1 verification, 0 for a
 * token seen before.
 */
async function validateToken(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  request: ValidationRequest,
): Promise<TokenValidation | null> {
  const decide = async () => {
    const accessToken = await readAccessToken(context, isolate, request.token);
    if (accessToken === undefined) return null;
    context.progress.clientId = accessToken.clientId;
    const fault = findFault(accessToken, request);
    if (fault !== undefined) {
      noteRefused(context, accessToken, request.resource, fault);
      return null;
    }
    if (await isolate.revocation.isRevoked(context, revocationSubjects(accessToken))) return null;
    return describe(context.settings.issuer, accessToken, request.resource);
  };
  return settle(context, isolate, decide, readAhead(context, isolate, undefined));
}

function findFault(
  { audiences, cnf }: AccessToken,
  { resource, checksConfirmation }: ValidationRequest,
): string | undefined {
  if (!audiences.some((audience) => isSameResource(audience, resource))) return "the token has other audiences";
  if (cnf === undefined) return undefined;
  // A caller cannot prove possession of a key whose confirmation method is unknown.
  if (cnf.method === "other") return "the token is bound by an unknown method";
  return checksConfirmation ? undefined : "the token is bound to a key that the caller does not check";
}

/** The caller receives `null` as for any other refused token; an operator finds the reason in the log. */
function noteRefused(
  context: RequestContext<ManagementEnv>,
  { clientId, audiences }: AccessToken,
  resource: string,
  detail: string,
): void {
  const { requestId } = context;
  logDecided(context, "validation-refused", {
    detail,
    resource,
    tokenClientId: clientId,
    tokenAudiences: audiences,
    requestId,
  });
}

function describe(issuer: string, token: AccessToken, resource: string): TokenValidation {
  const { active: _, ...props } = describeAccessToken(issuer, token);
  const { cnf } = token;
  return {
    props,
    audience: resource,
    expiresAt: token.expiresAtSeconds,
    scope: [...token.scope],
    userId: token.pairwiseSub ?? token.sub,
    clientId: token.clientId,
    ...(cnf?.method === "jkt" ? { cnf: { jkt: cnf.thumbprint } } : {}),
    ...(cnf?.method === "x5t#S256" ? { cnf: { "x5t#S256": cnf.thumbprint } } : {}),
  };
}
