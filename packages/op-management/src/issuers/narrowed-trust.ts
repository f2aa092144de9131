import { canonicalJson } from "@edge-op/shared/audit/audit-event";
import {
  type IssuerDocument,
  issuerParty,
  ruleParty,
  type TrustedIssuer,
} from "@edge-op/shared/issuers/trusted-issuer";
import { losesAny } from "../admin/own-authority.ts";

/**
 * **Returns the party whose tokens end with a change of an issuer**: the issuer, if it is disabled or trusted for less (a key, an algorithm or an
 * audience was removed); a rule, if it is disabled, removed or changed. For several rules at once, it is the issuer. Pure.
 */
export function narrowedTrust(before: TrustedIssuer, after: TrustedIssuer): string | undefined {
  const isDisabled = before.status === "active" && after.status === "disabled";
  if (isDisabled || losesTrust(before.document, after.document)) return issuerParty(before);
  const narrowed = before.document.rules.filter((rule) => {
    const next = after.document.rules.find(({ rule_id }) => rule_id === rule.rule_id);
    return rule.status === "active" && (next === undefined || describe(next) !== describe(rule));
  });
  if (narrowed.length > 1) return issuerParty(before);
  return narrowed[0] && ruleParty(before, narrowed[0]);
}

/** Ignores the description, because it grants nothing. */
function describe({ description: _, ...rule }: IssuerDocument["rules"][number]): string {
  return canonicalJson(rule);
}

/** Stands for the default audiences if none are configured; no audience is empty. */
const unset = "";

function losesTrust(before: IssuerDocument, after: IssuerDocument): boolean {
  const keysOf = ({ jwks }: IssuerDocument) => (jwks?.keys ?? []).map((key) => JSON.stringify(key));
  return (
    before.jwks_uri !== after.jwks_uri ||
    before.discovery_uri !== after.discovery_uri ||
    losesAny(keysOf(before), keysOf(after)) ||
    losesAny(before.algorithms, after.algorithms) ||
    losesAny(before.audiences ?? [unset], after.audiences ?? [unset])
  );
}
