import { isNumber, isText } from "@edge-op/protocol/encoding/stored-json";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { makeMissingWords, selectWithoutWords } from "@edge-op/shared/users/search-index";
import { rangeOf, searchedWords } from "@edge-op/shared/users/search-words";
import { type FoundPage, invalidCursor } from "../admin/list-page.ts";

/** Words of the index that a page looks at: it may be short, and has a next one. */
const mostLooked = 500;
/** Calls that make words of users of the previous release; a daily sweep makes the others. */
const mostMade = 3;

/** The place of a word in the index, and which of the searched words is followed there. */
interface Place {
  readonly followed: number;
  readonly word: string;
  readonly sub: string;
}

interface Found {
  readonly word: string;
  readonly sub: string;
}

/**
 * **Finds the users of whom each searched word begins a name, the address or the username**, and the one with the searched text as sub, in whatever
 * letters. The index is read in the order of the rarest word; the others are looked up for each user. Cost: 2 D1 calls, 1 more with several words and
 * on a short page; and those that make missing words.
 */
export async function searchUsers(
  database: D1Database,
  text: string,
  { after, count }: { readonly after: string; readonly count: number },
): Promise<FoundPage> {
  const words = searchedWords(text);
  if (words.length === 0) return { places: [], next: undefined };
  const isIncomplete = await makeWords(database);
  const place = after === "" ? await begin(database, words) : readPlace(after, words);
  const sub = text.trim();
  const named = after === "" ? await findSub(database, sub) : [];
  const found = await queryDatabase(() => selectPage(database, words, { ...place, text: sub }, count + 1).all<Found>());
  const rows = found.results.map((row) => ({
    key: row.sub,
    place: JSON.stringify([place.followed, row.word, row.sub]),
  }));
  const next = rows.length > count ? rows[count - 1]!.place : await lastLooked(database, words, place);
  return { places: [...named, ...rows.slice(0, count)], next, ...(isIncomplete ? { isIncomplete } : {}) };
}

async function findSub(database: D1Database, sub: string) {
  const statement = peopleOf(database).prepare("SELECT sub FROM users WHERE sub = ?1").bind(sub);
  const found = await queryDatabase(() => statement.first<{ readonly sub: string }>());
  return found === null ? [] : [{ key: found.sub, place: "" }];
}

/** Whether users of the previous release are still without words. */
async function makeWords(database: D1Database): Promise<boolean> {
  for (let made = 0; made < mostMade; made += 1) {
    const found = await queryDatabase(() => selectWithoutWords(database).all());
    if (!(await makeMissingWords(database, found))) return false;
  }
  return true;
}

const mostCounted = 250;

/** The searched word that begins the fewest words. */
async function begin(database: D1Database, words: readonly string[]): Promise<Place> {
  const start = (followed: number): Place => ({ followed, word: words[followed]!, sub: "" });
  if (words.length === 1) return start(0);
  const count = "SELECT count(*) AS count FROM (SELECT 1 FROM user_search WHERE word >= ?1 AND word < ?2 LIMIT ?3)";
  const statements = words.map((word) =>
    peopleOf(database)
      .prepare(count)
      .bind(...rangeOf(word), mostCounted),
  );
  const results = await queryDatabase(() => peopleOf(database).batch<{ readonly count: number }>(statements));
  const counts = results.map((result) => result.results[0]?.count ?? 0);
  return start(counts.indexOf(Math.min(...counts)));
}

function readPlace(after: string, words: readonly string[]): Place {
  let read: unknown;
  try {
    read = JSON.parse(after);
  } catch {
    throw invalidCursor();
  }
  const [followed, word, sub] = Array.isArray(read) ? (read as unknown[]) : [];
  if (!isNumber(followed) || words[followed] === undefined || !isText(word) || !isText(sub)) throw invalidCursor();
  return { followed, word, sub };
}

const looked = "SELECT word, sub FROM user_search WHERE (word, sub) > (?3, ?4) AND word < ?2 ORDER BY word, sub";

/** A user of whom several words begin so is found once, by the first. */
function selectPage(
  database: D1Database,
  words: readonly string[],
  place: Place & { readonly text: string },
  count: number,
): D1PreparedStatement {
  const others = words.filter((_, index) => index !== place.followed).map(rangeOf);
  const values = [...rangeOf(words[place.followed]!), place.word, place.sub, place.text, ...others.flat()];
  const has = (from: string, end: string) =>
    `EXISTS (SELECT 1 FROM user_search o WHERE o.sub = s.sub AND o.word >= ${from} AND o.word < ${end})`;
  const conditions = [
    "s.sub <> ?5",
    `NOT ${has("?1", "s.word")}`,
    ...others.map((_, index) => has(`?${2 * index + 6}`, `?${2 * index + 7}`)),
  ];
  const sql = `SELECT s.word, s.sub FROM (${looked} LIMIT ${mostLooked}) s WHERE ${conditions.join(" AND ")} LIMIT ${count}`;
  return peopleOf(database)
    .prepare(sql)
    .bind(...values);
}

/** After a short page: where the next one begins, unless the index has no more such words. */
async function lastLooked(database: D1Database, words: readonly string[], place: Place): Promise<string | undefined> {
  const statement = peopleOf(database)
    .prepare(`${looked.replace("WHERE", "WHERE ?1 = ?1 AND")} LIMIT 1 OFFSET ${mostLooked - 1}`)
    .bind(...rangeOf(words[place.followed]!), place.word, place.sub);
  const last = await queryDatabase(() => statement.first<Found>());
  return last === null ? undefined : JSON.stringify([place.followed, last.word, last.sub]);
}
