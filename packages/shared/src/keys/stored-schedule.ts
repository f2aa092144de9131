/**
 * **D1's copy of the key schedule**, which KeyManager writes in the transaction of the control change that announces it, for isolates that KeyManager
 * does not respond to. Private keys are wrapped under `OP_MASTER_KEY`, as they are in KV and in KeyManager.
 *
 *   key_schedule(part, version, revision, keys)   `keys`: JSON; in parts, because a value of D1 has at most 2 MB
 */

import { isNumber, isText, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { queryDatabase } from "../storage/query-database.ts";
import type { KeySchedule, ScheduledKey } from "./key-schedule.ts";

const keysInPart = 100;

/** Execute after the announcement of the change, if there is one, because the copy contains its number. */
export function storeSchedule(database: D1Database, { keys, revision }: KeySchedule): D1PreparedStatement[] {
  const parts = Array.from({ length: Math.ceil(keys.length / keysInPart) }, (_, part) =>
    database
      .prepare("INSERT INTO key_schedule SELECT ?1, coalesce(max(version), 0), ?2, ?3 FROM control_changes")
      .bind(part, revision, JSON.stringify(keys.slice(part * keysInPart, (part + 1) * keysInPart))),
  );
  return [database.prepare("DELETE FROM key_schedule"), ...parts];
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
  readonly cv: number;
  readonly keys: string;
}

/** The schedule, and the newest change in D1 when it was read: it contains every change of keys up to that. */
export interface StoredSchedule {
  readonly schedule: KeySchedule;
  readonly cv: number;
}

/**
 * `undefined` if a change of keys is newer than the copy, or if D1 lacks changes up to `knownVersion`, because it was restored to an earlier time
 * (ADR 11).
 */
export async function readStoredSchedule(
  database: D1Database,
  knownVersion: number,
): Promise<StoredSchedule | undefined> {
  const query = database
    .prepare(
      `SELECT revision, keys, newest.cv FROM key_schedule AS stored,
           (SELECT coalesce(max(version), 0) AS cv FROM control_changes) AS newest
         WHERE NOT EXISTS (SELECT 1 FROM control_changes WHERE version > stored.version AND kind = 'keys')
           AND newest.cv >= ?1
         ORDER BY part`,
    )
    .bind(knownVersion);
  const { results } = await queryDatabase(() => query.all<StoredPart>());
  const [first] = results;
  if (first === undefined) return undefined;
  const keys = results.flatMap(({ keys: part }) => readStored("key schedule", part, areKeys));
  return { schedule: { keys, revision: first.revision }, cv: first.cv };
}
