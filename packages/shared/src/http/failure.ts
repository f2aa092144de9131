/**
 * **The one boundary between errors and responses.** {@link reportFailure} classifies an error as a refusal, unavailability or a bug and logs it
 * once; the result is then rendered as JSON ({@link renderJson}), as a page, or as a redirect to the client.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-5.2
 */

import {
  type FieldError,
  loggedValue,
  OAuthError,
  type OAuthErrorCode,
  UnavailableError,
} from "@edge-op/protocol/oauth/errors";
import { log } from "../runtime/log.ts";
import { JsonResponse } from "./json-response.ts";
import type { RequestContext, SentRequest } from "./request-context.ts";

export interface Failure {
  readonly kind: "refused" | "unavailable" | "bug";
  readonly code: OAuthErrorCode | "temporarily_unavailable" | "server_error";
  readonly description: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly fields?: readonly FieldError[] | undefined;
  /** The error itself. */
  readonly error: unknown;
}

const retryAfterSeconds = "1";

/**
 * Work without a request, such as a queue's batch, has no `failed`; a request that failed before it had a context has its id. `sent`: the request, if
 * it was kept.
 */
export function reportFailure(
  error: unknown,
  failed?: RequestContext<unknown> | Pick<RequestContext<unknown>, "requestId">,
  sent?: SentRequest,
): Failure {
  const requestId = failed?.requestId;
  const context = failed !== undefined && "reports" in failed ? failed : undefined;
  if (error instanceof OAuthError) {
    const { code, reason, detail, description, status, headers, fields } = error;
    const { clientId, claimedClientId } = context?.progress ?? {};
    context?.reports?.noteRefusal(context, error, sent);
    const claimed = clientId === undefined && claimedClientId !== undefined ? loggedValue(claimedClientId) : undefined;
    log("refused", { code, reason, detail, clientId, claimedClientId: claimed, requestId });
    return { kind: "refused", code, description, status, headers, fields, error };
  }
  const named: Readonly<Record<string, string>> = requestId === undefined ? {} : { "Request-Id": requestId };
  if (error instanceof UnavailableError) {
    log("unavailable", { store: error.store, cause: String(error.cause), requestId });
    return {
      kind: "unavailable",
      code: "temporarily_unavailable",
      description: "A backend did not respond. Try again.",
      status: 503,
      headers: { "Retry-After": retryAfterSeconds, ...named, ...error.headers },
      error,
    };
  }
  log("bug", { error: error instanceof Error ? (error.stack ?? error.message) : String(error), requestId });
  return {
    kind: "bug",
    code: "server_error",
    description: "An internal error occurred. The request id identifies the log entry.",
    status: 500,
    headers: named,
    error,
  };
}

/** The error response of RFC 6749 §5.2. */
export function renderJson({ code, description, fields, status, headers }: Failure): JsonResponse {
  return new JsonResponse({ error: code, error_description: description, fields }, { status, headers });
}
