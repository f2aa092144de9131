import type { ControlView } from "../cache/control-view.ts";
import { ReadThrough, type StorageBindings } from "../cache/read-through.ts";
import { isolateMemory } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { Client, ClientMetadata, ClientSecret } from "./client.ts";
import { attachedClientBytes } from "./client-bytes.ts";
import { hasCutOffs, parseCutOffs, selectCutOffs } from "./cut-offs.ts";

/**
 * **Finds clients** through memory (1 h), KV (1 h) and D1, kept current by the control version. The absence of a client is cached
 * for a minute. Cost warm: 0.
 */
export class ClientDirectory {
  readonly #clients: ReadThrough<Client>;

  constructor(control: ControlView) {
    this.#clients = new ReadThrough(control, {
      kind: "client",
      ttlSeconds: 3600,
      absentSeconds: 60,
      maxBytes: isolateMemory.clients,
      attachedBytes: attachedClientBytes,
      isComplete: hasCutOffs,
      load: (context, clientId) => loadClient(context.env.DB, clientId),
    });
  }

  /** Disabled clients are returned too; the caller refuses them. */
  find(context: RequestContext<StorageBindings>, clientId: string): Promise<Client | undefined> {
    return this.#clients.find(context, clientId);
  }

  /** Whether {@link find} would cost no call. */
  isHeld(context: RequestContext<StorageBindings>, clientId: string): boolean {
    return this.#clients.isHeld(context, clientId);
  }

  /** The client as stored in D1, for a secret that does not match the copy (read-through.ts). */
  confirm(context: RequestContext<StorageBindings>, clientId: string): Promise<Client | undefined> {
    return this.#clients.confirm(context, clientId);
  }
}

interface ClientRow {
  readonly client_id: string;
  readonly status: "active" | "disabled";
  readonly metadata: string;
  readonly secrets: string;
  readonly created_at_ms: number;
  readonly cut_offs: string;
}

/** Reads a client with its live secrets from D1, in one query. */
export async function loadClient(database: D1Database, clientId: string): Promise<Client | undefined> {
  const row = await database
    .prepare(
      `SELECT c.client_id, c.status, c.metadata, c.created_at_ms, ${selectCutOffs("client")},
              (SELECT json_group_array(json_object('id', s.id, 'mac', s.mac, 'expiresAtMs', s.expires_at_ms))
                 FROM client_secrets s WHERE s.client_id = c.client_id) AS secrets
         FROM clients c WHERE c.client_id = ?1`,
    )
    .bind(clientId)
    .first<ClientRow>();
  if (row === null) return undefined;
  const secrets = JSON.parse(row.secrets) as { id: string; mac: string; expiresAtMs: number | null }[];
  return {
    clientId: row.client_id,
    status: row.status,
    metadata: JSON.parse(row.metadata) as ClientMetadata,
    secrets: secrets.map(
      ({ id, mac, expiresAtMs }): ClientSecret => ({ id, mac, expiresAtMs: expiresAtMs ?? undefined }),
    ),
    createdAtMs: row.created_at_ms,
    cutOffs: parseCutOffs(row.cut_offs),
  };
}
