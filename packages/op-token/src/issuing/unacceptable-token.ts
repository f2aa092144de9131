import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";

/** RFC 8693 §2.2.2: an invalid or unacceptable subject or actor token is `invalid_request`; the reason goes to the log. */
export function unacceptableToken(reason: RefusalReason, detail?: string): OAuthError {
  return new OAuthError("invalid_request", reason, {
    detail,
    description: "The subject_token or actor_token is not acceptable.",
  });
}
