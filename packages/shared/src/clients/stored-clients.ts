import { isNumber, isText, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { limits } from "../config/limits.ts";
import { parseCutOffs, selectCutOffs } from "../cut-offs/cut-offs.ts";
import type { Resource } from "../resources/resource.ts";
import { readResource } from "../resources/resource-directory.ts";
import { loadRecord, type StoredKind } from "../storage/record-kinds.ts";
import { type Client, type ClientOrigin, type ClientSecret, isClientMetadata } from "./client.ts";

const areSecrets = listOf(
  objectOf<{ readonly id: string; readonly sealed: string; readonly expiresAtMs: number | null }>({
    id: isText,
    sealed: isText,
    expiresAtMs: (value) => value === null || isNumber(value),
  }),
);

interface ClientRow {
  readonly client_id: string;
  readonly status: "active" | "disabled";
  readonly metadata: string;
  readonly secrets: string;
  readonly created_at_ms: number;
  readonly cut_offs: string;
  readonly origin: ClientOrigin | null;
  readonly fresh_until_ms: number | null;
  readonly used_at_ms: number | null;
  readonly resources: string;
}

/** A client, and the resources among the audiences that its registration names: `null` for one without a record. */
export interface StoredClient {
  readonly client: Client;
  readonly resources: Readonly<Record<string, Resource | null>>;
}

/** Reads a client with its live secrets, and the resources among its audiences, from D1, in one query. */
export const storedClients: StoredKind<StoredClient> = {
  kind: "client",
  ttlSeconds: 3600,
  query: {
    statement: (database, clientId) =>
      database
        .prepare(
          `SELECT c.client_id, c.status, c.metadata, c.created_at_ms, c.origin, c.fresh_until_ms, c.used_at_ms,
              ${selectCutOffs("client")},
              (SELECT json_group_array(json_object('id', s.id, 'sealed', s.secret, 'expiresAtMs', s.expires_at_ms))
                 FROM client_secrets s WHERE s.client_id = c.client_id) AS secrets,
              (SELECT json_group_array(json_object('identifier', named.value, 'metadata', r.metadata))
                 FROM (SELECT value FROM json_each(c.metadata, '$.audiences')
                       UNION SELECT value FROM json_each(c.metadata, '$.token_exchange.audiences')
                       UNION SELECT value FROM json_each(c.metadata, '$.token_exchange.resources')
                       LIMIT ${limits.audiences}) AS named
                   LEFT JOIN resources r ON r.identifier = named.value WHERE named.value <> '*') AS resources
         FROM clients c WHERE c.client_id = ?1`,
        )
        .bind(clientId),
    read: ([row]) => row && readClient(row as ClientRow),
  },
};

export async function loadClient(database: D1Database, clientId: string): Promise<Client | undefined> {
  return (await loadRecord(database, storedClients.query, clientId))?.client;
}

const areDescribed = listOf(
  objectOf<{ readonly identifier: string; readonly metadata: string | null }>({
    identifier: isText,
    metadata: (value) => value === null || isText(value),
  }),
);

function readClient(row: ClientRow): StoredClient {
  const secrets = readStored("secrets of a client", row.secrets, areSecrets);
  const described = readStored("resources of a client", row.resources, areDescribed);
  const resources = described.map(
    ({ identifier, metadata }) =>
      [identifier, metadata === null ? null : readResource({ identifier, metadata })] as const,
  );
  const client = {
    clientId: row.client_id,
    status: row.status,
    metadata: readStored("client", row.metadata, isClientMetadata),
    secrets: secrets.map(
      ({ id, sealed, expiresAtMs }): ClientSecret => ({ id, sealed, expiresAtMs: expiresAtMs ?? undefined }),
    ),
    createdAtMs: row.created_at_ms,
    cutOffs: parseCutOffs(row.cut_offs),
    ...(row.origin === null ? {} : { origin: row.origin }),
    ...(row.fresh_until_ms === null ? {} : { freshUntilMs: row.fresh_until_ms }),
    ...(row.used_at_ms === null ? {} : { usedAtMs: row.used_at_ms }),
  };
  return { client, resources: Object.fromEntries(resources) };
}
