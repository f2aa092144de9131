import { parseJsonObject } from "@edge-op/protocol/encoding/json-object";
import { isText, listOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { PersonMail } from "./mail-content.ts";
import type { Found } from "./mail-machine.ts";

/** How far the clocks of an isolate and of the object may differ. */
const clockMs = 10 * 60_000;

export interface FoundPerson extends Found {
  readonly locale: string | undefined;
}

interface Row {
  readonly is_committed: number;
  readonly claims: string | null;
  readonly addresses: string;
}

/**
 * **Whether a change was committed, and the addresses of its person**: the event that the change writes in its transaction, and the verified addresses, those
 * included that another one has replaced a few days ago. Returns
 * `undefined` if D1 does not respond. Cost: 1 D1 call.
 */
export async function findChange(
  database: D1Database,
  { sub, atMs, evidence: { action, target, requestId } }: PersonMail,
): Promise<FoundPerson | undefined> {
  const select = database
    .prepare(
      `SELECT EXISTS (SELECT 1 FROM admin_events WHERE target = ?2 AND at_ms >= ?3 AND action = ?4 AND request_id = ?5) AS is_committed,
         (SELECT claims FROM users WHERE sub = ?1) AS claims,
         (SELECT json_group_array(coalesce(address, address_key)) FROM user_addresses WHERE sub = ?1) AS addresses`,
    )
    .bind(sub, target, atMs - clockMs, action, requestId);
  try {
    const row = await queryDatabase(() => select.first<Row>());
    const { locale } = parseJsonObject(row?.claims ?? "{}") ?? {};
    return {
      isCommitted: row?.is_committed === 1,
      addresses: readStored("addresses", row?.addresses ?? "[]", listOf(isText<string>)),
      locale: typeof locale === "string" ? locale : undefined,
    };
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    return undefined;
  }
}
