-- Sessions that an administrator or a new password has ended (ADR 54): written with the change, deleted when the session's object has ended it.
CREATE TABLE ending_sessions (
  sid        TEXT PRIMARY KEY,
  reason     TEXT    NOT NULL,
  ends_at_ms INTEGER NOT NULL               -- when it would have ended by itself
) WITHOUT ROWID;
