-- Words by which people are searched: those of their names, their address and their sub, folded (packages/shared/src/users/search-words.ts).
CREATE TABLE user_search (
  word TEXT NOT NULL,
  sub  TEXT NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  PRIMARY KEY (word, sub)
) WITHOUT ROWID;
CREATE INDEX user_search_by_user ON user_search (sub, word);
-- From what they are made, and from what they were made. They differ for users that the previous release has written: a search and a daily sweep make the words of these.
ALTER TABLE users ADD COLUMN search_source TEXT AS (json_array(sub, username, claims ->> '$.name', claims ->> '$.given_name', claims ->> '$.family_name',
  claims ->> '$.middle_name', claims ->> '$.nickname', claims ->> '$.preferred_username', claims ->> '$.email')) VIRTUAL;
ALTER TABLE users ADD COLUMN searched TEXT;
CREATE INDEX users_to_search ON users (sub) WHERE searched IS NOT search_source;
