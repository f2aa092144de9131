import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { canonicalJson } from "@edge-op/shared/audit/audit-event";
import type { HeldKind } from "@edge-op/shared/held-records/held-records";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { LostChange } from "../held-records/hold-records.ts";

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
/** They take nothing away, or what they took away is not in D1: tokens, grants, sessions and cut-offs end in objects. */
const harmless =
  /\.(create|member_add|domain_claim|scim_add|scim_group_add|scim_token_create|register|export|exported|renamed|language_changed|recovery_asked|deletion_near|new_browser|use|given|provisioned|sign_up|session_end|grant_end|revoke|cut-off|decided)$|^(key|generation|deployment)\./;
const recordNouns: Readonly<Record<string, HeldKind | "invitation">> = {
  ...{ user: "user", sub: "user", client: "client", secret: "client", issuer: "issuer", upstream: "upstream" },
  ...{ resource: "resource", role: "role", group: "group", "document-host": "document-host", invitation: "invitation" },
  ...{ attribute: "attribute", organization: "organization", "organization-role": "organization-role" },
};
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

/** The record that may allow too much if D1 is restored to before this row (ADR 11); `undefined` if there is none. */
export function recordOfRow({
  action,
  target,
  sub,
  detail,
}: Pick<AdminEventRow, "action" | "target" | "sub" | "detail">): LostChange | undefined {
  // Used by a person, or replaced by one whose link was mailed later.
  const { invitation, replaced = invitation } = parseDetail(detail);
  if (/^(user\.sign_up|invitation\.resend)$/.test(action) && typeof replaced === "string")
    return { kind: "invitation", id: replaced, action };
  if (harmless.test(action)) return undefined;
  const noun = action.split(".", 1)[0]!;
  if (personal.has(noun)) return { kind: "user", id: sub, action };
  const kind = recordNouns[noun];
  return kind && { kind, id: target, action };
}

function parseDetail(detail: string): Record<string, unknown> {
  const value: unknown = JSON.parse(detail);
  return isJsonObject(value) ? { ...value } : { detail: canonicalJson(value) };
}
