import { OAuthError, UnavailableError } from "../oauth/errors.ts";
import { JsonResponse } from "./json-response.ts";

const retryAfterSeconds = "1";

function log(level: "info" | "error", record: Record<string, unknown>): void {
  console[level](JSON.stringify(record));
}

/**
 * **The one boundary between failures and answers.** Refusals are RFC 6749 §5.2 JSON, unavailability is 503 with
 * `Retry-After`, a bug is 500 `server_error` with a constant body; the reason goes to the log with the request's id.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-5.2
 */
export function errorResponse(error: unknown, requestId: string): JsonResponse {
  if (error instanceof OAuthError) {
    log("info", { event: "refused", code: error.code, detail: error.detail, requestId });
    return new JsonResponse(
      { error: error.code, error_description: error.description, fields: error.fields },
      { status: error.status, headers: error.headers },
    );
  }
  if (error instanceof UnavailableError) {
    log("error", { event: "unavailable", store: error.store, cause: String(error.cause), requestId });
    return new JsonResponse(
      { error: "temporarily_unavailable", error_description: "A store did not answer. Try again." },
      { status: 503, headers: { "Retry-After": retryAfterSeconds, "Request-Id": requestId } },
    );
  }
  log("error", {
    event: "bug",
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    requestId,
  });
  return new JsonResponse(
    { error: "server_error", error_description: "The server failed. The request id names the log entry." },
    { status: 500, headers: { "Request-Id": requestId } },
  );
}
