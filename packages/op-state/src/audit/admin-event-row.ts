import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { canonicalJson } from "@edge-op/shared/audit/audit-event";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** **A row of D1's `admin_events`**: a change through the admin API, or one that a person made to their own account. */
export interface AdminEventRow {
  readonly seq: number;
  readonly at_ms: number;
  readonly action: string;
  readonly target: string;
  readonly client_id: string;
  readonly sub: string;
  readonly detail: string;
  readonly address: string | null;
  readonly request_id: string | null;
}

/** Actions of a person on their own account; `client_id` is then the client that they affect. */
const personal = new Set([
  "consent",
  "passkey",
  "password",
  "account",
  "totp",
  "recovery_codes",
  "address",
  "identity",
]);
const aboutUsers = new Set(["user", "sub"]);
const aboutClients = new Set(["client", "secret"]);

/** Identifies a row: a restored D1 may assign its number to another row. Columns that later releases add do not change it. */
export function fingerprintOf({ seq, at_ms, action, target, client_id, sub, detail }: AdminEventRow): string {
  const text = JSON.stringify([seq, at_ms, action, target, client_id, sub, detail]);
  return bytesToHex(sha256(utf8ToBytes(text))).slice(0, 32);
}

export function toAuditEvent(row: AdminEventRow): { type: string; payload: Record<string, unknown> } {
  const { seq, action, target, client_id: clientId, sub, detail, address, request_id: requestId } = row;
  const noun = action.split(".", 1)[0]!;
  const subject = personal.has(noun)
    ? { sub, ...(clientId === "" ? {} : { clientId }) }
    : {
        actorClientId: clientId,
        ...(aboutUsers.has(noun) ? { sub: target } : {}),
        ...(aboutClients.has(noun) ? { clientId: target } : {}),
      };
  const from = { ...(address === null ? {} : { address }), ...(requestId === null ? {} : { requestId }) };
  return {
    type: action,
    payload: { ...parseDetail(detail), ...subject, ...from, target, actor: sub, adminSeq: seq },
  };
}

function parseDetail(detail: string): Record<string, unknown> {
  const value: unknown = JSON.parse(detail);
  return isJsonObject(value) ? { ...value } : { detail: canonicalJson(value) };
}
