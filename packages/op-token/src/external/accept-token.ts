import type { JwtClaims } from "@edge-op/protocol/jwt/decode-claims";
import { type Confirmation, readConfirmation } from "@edge-op/protocol/oauth/confirmation";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { matchRules, type Presentation } from "@edge-op/shared/issuers/match-rule";
import { resolveSubject } from "@edge-op/shared/issuers/resolve-subject";
import {
  type IssuerRule,
  issuerParty,
  ruleParty,
  type TokenUse,
  type TrustedIssuer,
} from "@edge-op/shared/issuers/trusted-issuer";
import type { TokenEnv } from "@edge-op/workers/env";
import type { TokenIsolate } from "../isolate.ts";
import { verifyIssuedToken } from "./verify-issued-token.ts";

/** **A token of a trusted issuer that a rule accepts**, and whom it stands for here. */
export interface AcceptedToken {
  readonly issuer: TrustedIssuer;
  readonly rule: IssuerRule;
  readonly use: TokenUse;
  readonly claims: JwtClaims;
  /** A user, or a service client if not `forUser`. */
  readonly sub: string;
  readonly forUser: boolean;
  /** What the token is bound to: its key must be proven, and is not passed on. */
  readonly cnf: Confirmation | undefined;
  /** The names by which cut-offs of the issuer and of the rule end what is issued. */
  readonly parties: readonly [issuer: string, rule: string];
}

/** A requested target that no matching rule allows is `invalid_target`; every other refusal is up to the grant. */
export type Refuse = (reason: RefusalReason, detail?: string) => OAuthError;

/**
 * **Accepts a token of a trusted issuer**, or throws: verified, matched by a rule, mapped to an active user or to a service client. Nothing is
 * spent. Cost warm: 0 calls, 1 verification; 1 D1 call for a rule that maps by username.
 */
export async function acceptToken(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  { token, idToken = false }: { readonly token: string; readonly idToken?: boolean },
  presentation: Presentation,
  refuse: Refuse,
): Promise<AcceptedToken> {
  const { use } = presentation;
  const verified = await verifyIssuedToken(context, isolate, token, { use, idToken });
  if (verified.kind === "refused") throw refuse(verified.code, verified.reason);
  const { issuer, claims } = verified;
  const match = matchRules(issuer.document.rules, claims, presentation, context.settings.issuer);
  if (match.kind === "target")
    throw new OAuthError("invalid_target", "issuer-rule-target", {
      detail: `${issuer.issuerId}: ${match.reason}`,
    });
  if (match.kind === "none") throw refuse("issuer-rule-missing", `${issuer.issuerId}: ${match.reason}`);
  const { rule } = match;
  const subject = await resolveSubject(context, isolate, rule, claims);
  if (subject.kind === "refused")
    throw refuse("issued-token-subject", `${issuer.issuerId}, ${rule.rule_id}: ${subject.reason}`);
  const cnf = claims["cnf"];
  if (cnf !== undefined && !isRecord(cnf)) throw refuse("issued-token-cnf");
  return {
    issuer,
    rule,
    use,
    claims,
    sub: subject.sub,
    forUser: subject.forUser,
    cnf: cnf && readConfirmation(cnf),
    parties: [issuerParty(issuer), ruleParty(issuer, rule)],
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `may_act` of another issuer counts only if it says that it names a party here: its names are not ours (RFC 8693 §4.4). */
export function readForeignMayAct(
  claims: JwtClaims,
  ownIssuer: string,
  refuse: Refuse,
): Readonly<Record<string, unknown>> | undefined {
  const mayAct = claims["may_act"];
  if (mayAct === undefined) return undefined;
  if (!isRecord(mayAct) || mayAct["iss"] !== ownIssuer) throw refuse("issued-token-may-act");
  return mayAct;
}
