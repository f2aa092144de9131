-- Events that no outbox holds any more and D1 does not have: D1 was set back to before they were written. Rows are never deleted.
CREATE TABLE audit_gaps (
  shard          TEXT    NOT NULL,
  from_seq       INTEGER NOT NULL,
  to_seq         INTEGER NOT NULL,               -- inclusive
  recorded_at_ms INTEGER NOT NULL,
  PRIMARY KEY (shard, from_seq)
) WITHOUT ROWID;
