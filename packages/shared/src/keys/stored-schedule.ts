/**
 * **The key schedule in D1**, which isolates read. KeyManager writes it in the transaction of the control change that announces it. Private keys are
 * wrapped under `OP_MASTER_KEY`, as they are in KV and in KeyManager.
 *
 *   key_schedule(part, version, revision, keys)   `keys`: JSON; in parts, because a value of D1 has at most 2 MB
 */

import { isNumber, isText, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { queryDatabase } from "../storage/query-database.ts";
import type { StoredKind } from "../storage/record-kinds.ts";
import type { KeySchedule, ScheduledKey } from "./key-schedule.ts";

const keysInPart = 100;

/**
 * Execute after the announcement of the change, if there is one, because the copy contains its number. An older revision, which a superseded instance
 * of KeyManager may send, replaces nothing.
 */
export function storeSchedule(database: D1Database, { keys, revision }: KeySchedule): D1PreparedStatement[] {
  const isNewest = "NOT EXISTS (SELECT 1 FROM key_schedule WHERE revision > ?1)";
  const parts = Array.from({ length: Math.ceil(keys.length / keysInPart) }, (_, part) =>
    database
      .prepare(
        `INSERT INTO key_schedule SELECT ?2, (SELECT coalesce(max(version), 0) FROM control_changes), ?1, ?3 WHERE ${isNewest}`,
      )
      .bind(revision, part, JSON.stringify(keys.slice(part * keysInPart, (part + 1) * keysInPart))),
  );
  return [database.prepare(`DELETE FROM key_schedule WHERE ${isNewest}`).bind(revision), ...parts];
}

const areKeys = listOf(
  objectOf<ScheduledKey>({
    kid: isText,
    alg: isText,
    publicJwk: objectOf<JsonWebKey>({ kty: isText }),
    wrappedPrivateKey: isText,
    publishAtMs: isNumber,
    signFromMs: isNumber,
    signUntilMs: isNumber,
    retireAtMs: isNumber,
  }),
);

interface StoredPart {
  readonly revision: number;
  readonly keys: string;
  readonly cv: number;
}

/** A schedule, and the control version up to which it contains every change of keys. */
export interface VersionedSchedule {
  readonly cv: number;
  readonly value: KeySchedule;
}

/**
 * The key schedule: one record. None if a change of keys is newer than what is stored. KV's copy is for a KeyManager and a D1 that do not respond.
 */
export const storedSchedules: StoredKind<KeySchedule> = {
  kind: "keys",
  ttlSeconds: 30 * 86_400,
  query: { statement: (database) => scheduleStatement(database, 0), read: readSchedule },
};

function scheduleStatement(database: D1Database, knownVersion: number): D1PreparedStatement {
  const newest = "(SELECT coalesce(max(version), 0) FROM control_changes)";
  return database
    .prepare(
      `SELECT revision, keys, ${newest} AS cv FROM key_schedule AS stored
         WHERE NOT EXISTS (SELECT 1 FROM control_changes WHERE version > stored.version AND kind = 'keys')
           AND ${newest} >= ?1
         ORDER BY part`,
    )
    .bind(knownVersion);
}

function readSchedule(rows: readonly object[]): KeySchedule | undefined {
  const parts = rows as readonly StoredPart[];
  const [first] = parts;
  if (first === undefined) return undefined;
  return { keys: parts.flatMap(({ keys }) => readStored("key schedule", keys, areKeys)), revision: first.revision };
}

/**
 * `undefined` if a change of keys is newer than what is stored, or if D1 lacks changes up to `knownVersion`, because it was restored to an earlier
 * time (ADR 11). Cost: 1 D1 read.
 */
export async function readStoredSchedule(
  database: D1Database,
  knownVersion: number,
): Promise<VersionedSchedule | undefined> {
  const { results } = await queryDatabase(() => scheduleStatement(database, knownVersion).all<StoredPart>());
  const value = readSchedule(results);
  return value && { value, cv: results[0]!.cv };
}
