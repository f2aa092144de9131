import { describeClockFault } from "@edge-op/protocol/encoding/seconds";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";

/** RFC 8693 §2.2.2: an invalid or unacceptable subject or actor token is `invalid_request`; the reason goes to the log. */
export function unacceptableToken(reason: RefusalReason, detail?: string, clock?: string): OAuthError {
  return new OAuthError("invalid_request", reason, {
    detail,
    description:
      describeClockFault("subject_token or actor_token", clock) ??
      "The subject_token or actor_token is not acceptable.",
  });
}
