import { parseJsonObject } from "@edge-op/protocol/encoding/json-object";
import { isText, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import type { BrandingRecord } from "@edge-op/shared/config/branding-record";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { EmailAddress } from "@edge-op/shared/users/user-addresses";
import { type PersonMail, readMailBranding, selectBranding } from "./find-recipient.ts";
import type { Found } from "./mail-machine.ts";

/** How far the clocks of an isolate and of the object may differ. */
const clockMs = 10 * 60_000;

const isAddress = objectOf<EmailAddress>({ key: isText, address: isText });

export interface FoundPerson extends Found {
  readonly locale: string | undefined;
  readonly zoneinfo: string | undefined;
  /** The address that can take changes back. */
  readonly oldest: EmailAddress | undefined;
  readonly branding: BrandingRecord | undefined;
}

interface Row {
  readonly branding: string | null;
  readonly is_committed: number;
  readonly claims: string | null;
  readonly addresses: string;
  readonly oldest: string | null;
}

/**
 * **Whether a change was committed, and the addresses of its person**: the event that the change writes in its transaction, and the verified
 * addresses, those included that another one has replaced a few days ago. Returns `undefined` if D1 does not respond. Cost: 1 D1 call.
 */
export async function findChange(
  database: D1Database,
  { sub, atMs, evidence: { action, target, requestId } }: PersonMail,
): Promise<FoundPerson | undefined> {
  const select = peopleOf(database)
    .prepare(
      `SELECT ${selectBranding}, EXISTS (SELECT 1 FROM admin_events WHERE target = ?2 AND at_ms >= ?3 AND action = ?4 AND request_id = ?5) AS is_committed,
         (SELECT claims FROM users WHERE sub = ?1) AS claims,
         (SELECT json_group_array(coalesce(address, address_key)) FROM user_addresses WHERE sub = ?1) AS addresses,
         (SELECT json_object('key', address_key, 'address', coalesce(address, address_key)) FROM user_addresses
           WHERE sub = ?1 AND coalesce(held_until_ms, ?6 + 1) > ?6 ORDER BY verified_at_ms LIMIT 1) AS oldest`,
    )
    .bind(sub, target, atMs - clockMs, action, requestId, atMs);
  try {
    const row = await queryDatabase(() => select.first<Row>());
    const { locale, zoneinfo } = parseJsonObject(row?.claims ?? "{}") ?? {};
    return {
      branding: readMailBranding(row?.branding),
      isCommitted: row?.is_committed === 1,
      addresses: readStored("addresses", row?.addresses ?? "[]", listOf(isText<string>)),
      locale: typeof locale === "string" ? locale : undefined,
      zoneinfo: typeof zoneinfo === "string" ? zoneinfo : undefined,
      oldest: row?.oldest ? readStored("oldest address", row.oldest, isAddress) : undefined,
    };
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    return undefined;
  }
}
