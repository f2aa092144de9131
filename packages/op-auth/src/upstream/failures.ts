import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import type { UpstreamProblem } from "../step/flow.ts";
import { UpstreamRefusal } from "./openid.ts";
import { UpstreamUnreachable } from "./provider-fetch.ts";

export type FailureReason = UpstreamProblem["reason"] | "declined";

/**
 * **What a person is told of an error of an upstream provider**, by its code, at the redirect back as at an endpoint. A code that is not in the table
 * is the provider's own decision: it asks for something else (consent, an administrator, another app), or does not accept the request. Only a
 * response without a code can have failed a check. Codes are the registry's and those that providers made up.
 *
 * @see https://www.iana.org/assignments/oauth-parameters/oauth-parameters.xhtml#extensions-error
 */
const reasonOfCode: ReadonlyMap<string, FailureReason> = new Map<string, FailureReason>([
  ...[
    ...["access_denied", "request_denied"],
    // Apple, LinkedIn, and the reasons of Facebook and Microsoft.
    ...["user_cancelled_authorize", "user_cancelled_login", "user_cancelled", "user_denied", "cancel"],
  ].map((code) => [code, "cancelled"] as const),
  ...["server_error", "temporarily_unavailable", "slow_down", "service_unavailable", "internal_failure"].map(
    (code) => [code, "unreachable"] as const,
  ),
]);

/** Microsoft's code for a person who declined. With any other one, `access_denied` is a decision of their directory. */
const declinedAtMicrosoft = "AADSTS65004";

/**
 * Requires that a provider sends no error. The error is read before the response is verified: a provider may omit `iss` in it, and Facebook sends
 * some without `error`. It leads to a text and to nothing else.
 *
 * @throws UpstreamRefusal
 */
export function requireCode(parameters: URLSearchParams): void {
  const own = parameters.has("code") ? null : (parameters.get("error_code") ?? parameters.get("error_message"));
  const code = parameters.get("error") || own;
  if (code) throw new UpstreamRefusal(code);
}

/** The reason that a person is told. */
export function reasonOf(failure: unknown, parameters: URLSearchParams): FailureReason {
  for (let each = failure; each instanceof Error; each = each.cause) {
    if (each instanceof UpstreamUnreachable) return "unreachable";
    if (each instanceof UpstreamRefusal) return reasonOfResponse(each.code, parameters);
    const code = codeOfError(each);
    if (code !== undefined) return reasonOfCode.get(code) ?? "declined";
    // An error that is in another form than OAuth's, as Facebook's.
    if (each.cause instanceof Response && each.cause.status >= 400) return "declined";
  }
  return "failed";
}

function reasonOfResponse(code: string, parameters: URLSearchParams): FailureReason {
  const more = [parameters.get("error_subcode"), parameters.get("error_reason")];
  if (more.some((each) => each !== null && reasonOfCode.get(each) === "cancelled")) return "cancelled";
  const atMicrosoft = /\bAADSTS\d+/.exec(parameters.get("error_description") ?? "")?.[0];
  if (atMicrosoft !== undefined && reasonOfCode.get(code) !== "unreachable") {
    return atMicrosoft === declinedAtMicrosoft ? "cancelled" : "declined";
  }
  return reasonOfCode.get(code) ?? "declined";
}

/** The code of an error response; GitHub sends one with the status 200. */
export function codeOfError(error: Error): string | undefined {
  const { cause } = error;
  const body = isJsonObject(cause) ? (isJsonObject(cause["body"]) ? cause["body"] : cause) : undefined;
  const code = error instanceof UpstreamRefusal ? error.code : "error" in error ? error.error : body?.["error"];
  return typeof code === "string" ? code : undefined;
}
