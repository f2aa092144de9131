/**
 * **For which organisation a domain is verified** (ADR 72): at most one. Whoever lets a person join because of their address asks here, and repeats
 * the condition in the statement that writes: a domain can lapse in between. Cost: 1 D1 call that reads 1 row.
 */

import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { EmailAddress } from "@edge-op/shared/users/user-addresses";

/** Exactly: an address of a subdomain is of another domain. */
export function domainOf({ key }: Pick<EmailAddress, "key">): string {
  return key.slice(key.lastIndexOf("@") + 1);
}

/** The organisation for which the domain of an address is verified. */
export async function findOrganizationOfDomain(
  database: D1Database,
  address: Pick<EmailAddress, "key">,
): Promise<string | undefined> {
  const select = database
    .prepare("SELECT org_id FROM organization_domains WHERE domain = ?1 AND state = 'verified'")
    .bind(domainOf(address));
  return (await queryDatabase(() => select.first<string>("org_id"))) ?? undefined;
}

/** Whether the domain of an address is verified for *this* organisation. */
export async function isVerifiedDomain(
  database: D1Database,
  orgId: string,
  address: Pick<EmailAddress, "key">,
): Promise<boolean> {
  return (await findOrganizationOfDomain(database, address)) === orgId;
}

/** The same as {@link isVerifiedDomain}, as a condition of a statement that writes. Both arguments are parameters (`?1`) or columns. */
export function whereDomainVerified(orgId: string, domain: string): string {
  return `EXISTS (SELECT 1 FROM organization_domains d WHERE d.domain = ${domain} AND d.state = 'verified' AND d.org_id = ${orgId})`;
}
