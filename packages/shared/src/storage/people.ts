/**
 * **The one way to data about people**: every statement that names a table of people (users/personal-data.ts) is prepared, and every batch of such
 * statements is run, by what this function returns. Today it is the database of everything else. `test/topology/people.test.ts` lists the files with
 * such statements, the statements and batches that concern other tables too, and why.
 *
 * @param database the binding `DB`
 */
export function peopleOf(database: D1Database): D1Database {
  return database;
}
