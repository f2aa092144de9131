-- Administrative changes, numbered: the number is the control version that every revocation shard repeats.
-- kind: client | user | rbac | keys | generations. Rows older than 90 days may be deleted, the newest never.
CREATE TABLE control_changes (
  version INTEGER PRIMARY KEY AUTOINCREMENT,
  kind    TEXT    NOT NULL,
  id      TEXT    NOT NULL,
  at_ms   INTEGER NOT NULL
);

-- How many shards each sharded store has, where, since when. Append-only but for its two end marks.
CREATE TABLE shard_generations (
  store           TEXT    NOT NULL,
  generation      INTEGER NOT NULL,
  regions         TEXT    NOT NULL,            -- JSON { region: { shards, hint } }
  minted_from_ms  INTEGER NOT NULL,
  minted_until_ms INTEGER,                     -- NULL: the newest
  retired         INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (store, generation)
) WITHOUT ROWID;

INSERT INTO control_changes (kind, id, at_ms) VALUES ('generations', '*', 0);
INSERT INTO shard_generations (store, generation, regions, minted_from_ms) VALUES
  ('revocation', 1, '{"wnam":{"shards":8,"hint":"wnam"}}', 0),
  ('refresh',    1, '{"wnam":{"shards":16,"hint":"wnam"}}', 0),
  ('code',       1, '{"wnam":{"shards":8,"hint":"wnam"}}', 0),
  ('session',    1, '{"wnam":{"shards":8,"hint":"wnam"}}', 0),
  ('challenge',  1, '{"wnam":{"shards":8,"hint":"wnam"}}', 0);
