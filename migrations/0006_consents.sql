-- What a person has agreed that a client may do and know. Taking a consent back deletes the row and ends its grants.
CREATE TABLE consents (
  sub           TEXT    NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  client_id     TEXT    NOT NULL REFERENCES clients (client_id) ON DELETE CASCADE,
  allowed       TEXT    NOT NULL,              -- JSON list of scope values and claim:<name>
  given_at_ms   INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (sub, client_id)
) WITHOUT ROWID;

-- Grants with offline_access outlive the session; they are kept here so that a consent taken back can end them.
CREATE TABLE offline_grants (
  grant_id  TEXT PRIMARY KEY,
  sub       TEXT    NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  client_id TEXT    NOT NULL REFERENCES clients (client_id) ON DELETE CASCADE,
  address   TEXT    NOT NULL,                  -- its revocation shard, JSON
  until_ms  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX offline_grants_by_consent ON offline_grants (sub, client_id);

-- Where a person is signed in: lets them see it, and lets a consent taken back reach every session.
CREATE TABLE user_sessions (
  sid             TEXT PRIMARY KEY,
  sub             TEXT    NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  device          TEXT    NOT NULL,            -- "Firefox on Windows", as the browser says
  signed_in_at_ms INTEGER NOT NULL,
  ends_at_ms      INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX user_sessions_by_user ON user_sessions (sub);
