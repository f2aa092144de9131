import { queryDatabase } from "../cache/query-database.ts";
import { UnavailableError } from "../oauth/errors.ts";
import { canonicalUsername } from "./username.ts";

/**
 * **Usernames in D1.** `username_key` is the canonical form of a username, unique. A row of an earlier release without a canonical
 * form contains a space and the exact spelling; a row that {@link keyUsernames} has not processed contains NULL. Both are found by
 * their exact spelling without ASCII case.
 */

/** The condition and order that find the user of a name among `u`, bound to ?1 and ?2: see {@link nameBindings}. */
export const isNamed = `(u.username_key = ?1
  OR (u.username = ?2 AND (u.username_key IS NULL OR substr(u.username_key, 1, 1) = ' ')))`;

/** An exact spelling precedes a canonical form, because it is the only way to name that user. */
export const exactNameFirst = "u.username_key = ?1";

/** No name has the canonical form "". */
export function nameBindings(name: string): readonly [canonical: string, exact: string] {
  return [canonicalUsername(name) ?? "", name.normalize("NFC")];
}

const batchRows = 500;
const mostBatches = 20;

/**
 * Sets the key of every user without one, the oldest first: of two users with one canonical form the older one gets it. Returns
 * whether there were any. With more than 10,000 of them it responds 503, and the next call continues. Cost: 1 D1 call, 2 for each
 * 500 users.
 */
export async function keyUsernames(database: D1Database): Promise<boolean> {
  for (let batch = 0; batch < mostBatches; batch += 1) {
    const { results } = await queryDatabase(() =>
      database
        .prepare("SELECT sub, username FROM users WHERE username_key IS NULL ORDER BY created_at_ms, sub LIMIT ?1")
        .bind(batchRows)
        .all<{ sub: string; username: string }>(),
    );
    if (results.length === 0) return batch > 0;
    const keys = JSON.stringify(chooseKeys(results));
    await queryDatabase(() =>
      database
        .prepare(
          `UPDATE users SET username_key = iif(EXISTS (SELECT 1 FROM users o WHERE o.username_key = j.value ->> 'key'),
                                               ' ' || users.username, j.value ->> 'key')
             FROM json_each(?1) AS j WHERE users.sub = j.value ->> 'sub' AND users.username_key IS NULL`,
        )
        .bind(keys)
        .run(),
    );
  }
  throw new UnavailableError("users", new Error("usernames from before are still being keyed"));
}

function chooseKeys(users: readonly { readonly sub: string; readonly username: string }[]) {
  const taken = new Set<string>();
  return users.map(({ sub, username }) => {
    const canonical = canonicalUsername(username);
    const isOwn = canonical !== undefined && !taken.has(canonical);
    if (isOwn) taken.add(canonical);
    return { sub, key: isOwn ? canonical : ` ${username}` };
  });
}

/** The user of a name, active or not. Cost: 1 D1 call. */
export async function findSubOfUsername(database: D1Database, name: string): Promise<string | undefined> {
  const row = await queryDatabase(() =>
    database
      .prepare(`SELECT u.sub FROM users u WHERE ${isNamed} ORDER BY ${exactNameFirst} LIMIT 1`)
      .bind(...nameBindings(name))
      .first<{ sub: string }>(),
  );
  return row?.sub;
}
