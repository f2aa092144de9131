import { listOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { peopleOf } from "../storage/people.ts";
import { queryDatabase } from "../storage/query-database.ts";
import { type SearchSource, searchSource, wordsOf } from "./search-words.ts";
import type { UserClaims } from "./user.ts";

const isSource = listOf((value): value is unknown => value !== undefined);

interface Row {
  readonly sub: string;
  readonly source: string;
  readonly words: readonly string[];
}

/**
 * **Statements that make the words of users after they were written, in the same transaction.** If a user is not as `source` says, as after a change
 * at the same time, their words are made later, by {@link makeMissingWords}: nobody is found by what they are not called any more, longer than until
 * the next search.
 */
function makeWords(database: D1Database, rows: readonly Row[]): D1PreparedStatement[] {
  const text = JSON.stringify(rows);
  const each = "json_each(?1) j JOIN users u ON u.sub = j.value ->> 'sub' AND u.search_source = j.value ->> 'source'";
  return [
    `DELETE FROM user_search WHERE sub IN (SELECT u.sub FROM ${each})`,
    `INSERT INTO user_search (word, sub) SELECT w.value, u.sub FROM ${each}, json_each(j.value -> 'words') w`,
    `UPDATE users SET searched = search_source WHERE sub IN (SELECT u.sub FROM ${each})`,
  ].map((sql) => peopleOf(database).prepare(sql).bind(text));
}

interface Named {
  readonly sub: string;
  readonly username: string;
  readonly claims: Partial<UserClaims>;
}

function rowOf(source: SearchSource, text = JSON.stringify(source)): Row {
  return { sub: source[0]!, source: text, words: wordsOf(source) };
}

/** The words of a user that is written with these values. */
export function makeWordsOf(database: D1Database, ...users: readonly Named[]): D1PreparedStatement[] {
  return makeWords(
    database,
    users.map((user) => rowOf(searchSource(user))),
  );
}

/** Users of one call. */
export const wordsAtOnce = 200;

export function selectWithoutWords(database: D1Database): D1PreparedStatement {
  return peopleOf(database)
    .prepare("SELECT search_source AS source FROM users WHERE searched IS NOT search_source ORDER BY sub LIMIT ?1")
    .bind(wordsAtOnce);
}

/**
 * **Makes the words of users that the previous release has written.** `found` is what {@link selectWithoutWords} has read. Returns
 * whether there may be more of them. Cost: 1 D1 call if there are any.
 */
export async function makeMissingWords(database: D1Database, found: D1Result | undefined): Promise<boolean> {
  const results = found?.results ?? [];
  if (results.length === 0) return false;
  // As SQLite writes it: JSON.stringify may escape other characters.
  const rows = results.map((row) => {
    const text = String(Reflect.get(row as object, "source"));
    const values = readStored("search source", text, isSource);
    return rowOf(
      values.map((value) => (typeof value === "string" ? value : null)),
      text,
    );
  });
  await queryDatabase(() => peopleOf(database).batch(makeWords(database, rows)));
  return results.length === wordsAtOnce;
}
