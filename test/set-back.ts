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
