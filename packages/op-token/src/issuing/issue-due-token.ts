import { describeClockFault } from "@edge-op/protocol/encoding/seconds";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import type { TokenType } from "@edge-op/protocol/oauth/registered-names";
import { spendAssertion } from "@edge-op/shared/callers/client-assertion";
import type { Repeatable } from "@edge-op/shared/control/remembered-decisions";
import { type GrantIdentity, newGrant } from "@edge-op/shared/grants/grant";
import type { RevocationSubject } from "@edge-op/shared/leases/revocation-subject";
import type { Resource } from "@edge-op/shared/resources/resource";
import type { AccessTokenContent } from "@edge-op/shared/tokens/access-token";
import type { IssueRequest, TokenResponse } from "../grant-module.ts";
import {
  issueAccessToken,
  type PlannedAccessToken,
  type PlannedLifetime,
  planAccessToken,
} from "./issue-access-token.ts";

/** An access token that is due by itself, without a login: all of it except the parts that differ each time. */
export interface DueToken extends Repeatable {
  readonly content: Omit<AccessTokenContent, keyof PlannedAccessToken | "clientId" | "cnf">;
  readonly described: readonly Resource[];
  readonly lifetime: PlannedLifetime;
  /** The grant to which it belongs; a new one by default. */
  readonly grant?: Pick<GrantIdentity, "grantId" | "address"> | undefined;
  /** The tokens that were presented for it. None of them may be revoked. */
  readonly presented?: readonly RevocationSubject[];
  /** The assertion that was presented for it, and the assertion's `jti`. It may be used once. */
  readonly assertion?: { readonly clientId: string; readonly claims: Readonly<Record<string, unknown>> } | undefined;
  readonly issuedTokenType?: TokenType;
}

/**
 * **Issues an access token that is due by itself**. Cost warm: 1 signature; 1 object call for an assertion that is spent; in `direct` 1 object call a
 * shard.
 */
export async function issueDueToken(request: IssueRequest, due: DueToken): Promise<TokenResponse> {
  const { context, isolate } = request;
  const { presented = [], assertion } = due;
  if (await isolate.revocation.isRevoked(context, presented)) throw unacceptableToken("subject-token-revoked");
  const { grantClientId: clientId = request.client.clientId, sub } = due.content;
  // A new grant rests on a confirmed control version.
  if (due.grant === undefined) await request.validate();
  const grant = due.grant ?? (await newGrant(context, isolate, { clientId, sub }));
  const committed = await request.commit();
  if (assertion !== undefined && !(await spendAssertion(context, isolate, assertion, assertion.claims))) {
    throw new OAuthError("invalid_grant", "assertion-replayed");
  }
  const content = { ...planAccessToken(request, grant, due.lifetime), ...due.content };
  return issueAccessToken(committed, content, due.described, due.issuedTokenType);
}

/** RFC 8693 §2.2.2: an invalid or unacceptable subject or actor token is `invalid_request`; the reason goes to the log. */
export function unacceptableToken(reason: RefusalReason, detail?: string, clock?: string): OAuthError {
  return new OAuthError("invalid_request", reason, {
    detail,
    description:
      describeClockFault("subject_token or actor_token", clock) ??
      "The subject_token or actor_token is not acceptable.",
  });
}
