/**
 * **D1's change log as it was when `version` was its newest change**: as after a restoration by Time Travel, which brings
 * the counter of AUTOINCREMENT back too.
 */
export async function setChangeLogBackTo(database: D1Database, version: number): Promise<void> {
  await database.batch([
    database.prepare("DELETE FROM control_changes WHERE version > ?1").bind(version),
    database.prepare("UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'control_changes'").bind(version),
  ]);
}

/** **A store's generation table as it was before the generation after `newest` was opened.** */
export async function setGenerationsBackTo(database: D1Database, store: string, newest: number): Promise<void> {
  await database.batch([
    database.prepare("DELETE FROM shard_generations WHERE store = ?1 AND generation > ?2").bind(store, newest),
    database
      .prepare("UPDATE shard_generations SET minted_until_ms = NULL, retired = 0 WHERE store = ?1 AND generation = ?2")
      .bind(store, newest),
  ]);
}
