-- Security events of every object, chained per shard (the outbox's object name); written by the queue's consumer alone.
CREATE TABLE audit_events (
  shard    TEXT    NOT NULL,
  seq      INTEGER NOT NULL,                   -- from 1, without gaps
  at_ms    INTEGER NOT NULL,
  type     TEXT    NOT NULL,
  payload  TEXT    NOT NULL,                   -- canonical JSON
  previous TEXT    NOT NULL,                   -- hash of seq - 1, hex
  hash     TEXT    NOT NULL,
  PRIMARY KEY (shard, seq)
) WITHOUT ROWID;
CREATE INDEX audit_events_by_time ON audit_events (at_ms);
CREATE INDEX audit_events_by_type ON audit_events (type, at_ms);

-- Per shard, the last seq up to which nothing is missing: an outbox deletes below it and sends again what is above.
CREATE TABLE audit_watermarks (
  shard TEXT PRIMARY KEY,
  seq   INTEGER NOT NULL
) WITHOUT ROWID;
