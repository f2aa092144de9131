-- The sealed segments of the log that are in R2 (binding AUDIT_EXPORT, ADR 35). A row is written in the transaction that deletes its events here.
CREATE TABLE audit_segments (
  to_position   INTEGER PRIMARY KEY,           -- the last position, inclusive
  from_position INTEGER NOT NULL,
  from_ms       INTEGER NOT NULL,              -- the times of its oldest and newest event
  to_ms         INTEGER NOT NULL,
  key           TEXT    NOT NULL,              -- of the object
  digest        BLOB    NOT NULL,              -- SHA-256 of the object
  before        BLOB    NOT NULL,              -- chain value at from_position - 1
  chain         BLOB    NOT NULL,              -- chain value at to_position
  identities    BLOB    NOT NULL               -- a filter of its people, clients, actors and targets
);
CREATE UNIQUE INDEX audit_segments_by_key ON audit_segments (key);
