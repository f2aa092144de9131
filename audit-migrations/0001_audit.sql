-- The audit log, a database of its own (binding AUDIT_DB): its size does not affect the control plane (ADR 35).

-- One chain over the events of every object and every administrative change, in the order in which they were written.
CREATE TABLE audit_events (
  position INTEGER PRIMARY KEY,               -- place in the chain, from 1 without gaps
  shard    TEXT    NOT NULL,                  -- object name of the outbox
  seq      INTEGER NOT NULL,                  -- the event's number there, from 1 without gaps
  at_ms    INTEGER NOT NULL,
  type     TEXT    NOT NULL,
  payload  TEXT    NOT NULL,                  -- canonical JSON
  previous BLOB    NOT NULL,                  -- hash of seq - 1 of the shard
  hash     BLOB    NOT NULL,                  -- of the event and of previous
  chain    BLOB    NOT NULL,                  -- SHA-256 of the chain value at position - 1 and of hash
  sub TEXT AS (payload ->> '$.sub') VIRTUAL,
  client_id TEXT AS (coalesce(payload ->> '$.clientId', payload ->> '$.client_id')) VIRTUAL,
  actor TEXT AS (payload ->> '$.actor') VIRTUAL,
  target TEXT AS (payload ->> '$.target') VIRTUAL,
  request_id TEXT AS (payload ->> '$.requestId') VIRTUAL
);
CREATE UNIQUE INDEX audit_events_by_shard ON audit_events (shard, seq);
CREATE INDEX audit_events_by_time ON audit_events (at_ms);
CREATE INDEX audit_events_by_type ON audit_events (type, at_ms);
CREATE INDEX audit_events_by_sub ON audit_events (sub, at_ms) WHERE sub IS NOT NULL;
CREATE INDEX audit_events_by_client ON audit_events (client_id, at_ms) WHERE client_id IS NOT NULL;
CREATE INDEX audit_events_by_actor ON audit_events (actor, at_ms) WHERE actor IS NOT NULL;
CREATE INDEX audit_events_by_target ON audit_events (target, at_ms) WHERE target IS NOT NULL;
-- The events of a request are few: they are sorted.
CREATE INDEX audit_events_by_request ON audit_events (request_id) WHERE request_id IS NOT NULL;

-- Per shard, the last seq up to which nothing is missing: an outbox deletes below it and sends again what is above.
CREATE TABLE audit_watermarks (
  shard TEXT PRIMARY KEY,
  seq   INTEGER NOT NULL
) WITHOUT ROWID;

-- Events that no outbox holds any more and this database does not have: it was restored to before they were written.
CREATE TABLE audit_gaps (
  shard          TEXT    NOT NULL,
  from_seq       INTEGER NOT NULL,
  to_seq         INTEGER NOT NULL,             -- inclusive
  recorded_at_ms INTEGER NOT NULL,
  PRIMARY KEY (shard, from_seq)
) WITHOUT ROWID;
CREATE INDEX audit_gaps_by_time ON audit_gaps (recorded_at_ms, shard, from_seq);

-- Where a chain begins now: the last event that retention deleted. The shard '' is the one chain: seq is a position, hash a chain value.
CREATE TABLE audit_anchors (
  shard TEXT PRIMARY KEY,
  seq   INTEGER NOT NULL,
  hash  BLOB    NOT NULL
) WITHOUT ROWID;

-- As retired_subs of the control database, and written before it: a sub stays retired if that database is set back to before the deletion.
CREATE TABLE retired_subjects (
  hash BLOB PRIMARY KEY
) WITHOUT ROWID;
