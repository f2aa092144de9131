/**
 * **Limits for clients that register themselves** (ADR 47): a record of `limits.registrationBytes`, and `limits.unusedRegistrations` clients without
 * any consent yet. Further registrations are refused until older ones have expired (`CLIENT_UNUSED_LIFETIME`) or are in use; clients in use are not
 * limited.
 */

import { encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { ClientMetadata } from "@edge-op/shared/clients/client";
import { limits } from "@edge-op/shared/config/limits";
import type { Settings } from "@edge-op/shared/config/settings";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { clients, type StoredClient } from "./client-table.ts";

type Lives = Pick<Settings, "clientUnusedSeconds">;

export function requireRegistrationSize(metadata: ClientMetadata): void {
  const bytes = encodeUtf8(JSON.stringify(metadata)).byteLength;
  if (bytes <= limits.registrationBytes) return;
  throw new OAuthError("invalid_client_metadata", "registration-too-large", {
    detail: `${bytes} bytes`,
    description: `The client metadata have ${bytes} bytes; a client that registers itself may have ${limits.registrationBytes}.`,
  });
}

const unused = "origin = 'registration' AND used_at_ms IS NULL AND created_at_ms >";

function endedBefore({ clientUnusedSeconds }: Lives, atMs: number): number {
  return atMs - clientUnusedSeconds * 1000;
}

/** To be executed after the insertion: fails, together with its transaction, if there are too many. */
export function roomToRegister(
  database: D1Database,
  lives: Lives,
  { clientId, createdAtMs }: StoredClient,
): D1PreparedStatement {
  const condition = `(SELECT count(*) FROM clients WHERE ${unused} ?2) > ?3`;
  return clients.refuseIf(database, clientId, condition, endedBefore(lives, createdAtMs), limits.unusedRegistrations);
}

/** To be called after a failed insertion: refuses if the limit was the reason, and states until when. */
export async function requireRoomToRegister(database: D1Database, lives: Lives, atMs: number): Promise<void> {
  const since = endedBefore(lives, atMs);
  const row = await queryDatabase(() =>
    database
      .prepare(`SELECT count(*) AS clients, min(created_at_ms) AS oldest FROM clients WHERE ${unused} ?1`)
      .bind(since)
      .first<{ readonly clients: number; readonly oldest: number | null }>(),
  );
  if (row === null || row.oldest === null || row.clients < limits.unusedRegistrations) return;
  const seconds = Math.max(1, Math.ceil((row.oldest - since) / 1000));
  throw new OAuthError("rate_limited", "registrations-unused", {
    description: "Too many clients have registered themselves that nobody uses yet. Try again later.",
    headers: { "Retry-After": String(seconds) },
  });
}
