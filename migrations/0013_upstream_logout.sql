-- What sessions rest on at providers of others that may end them (OpenID Connect Back-Channel Logout). Keys are hashes: the provider's own sid and
-- sub are not stored here. Written with the session and deleted with it; providers whose record does not accept logout tokens have no rows.
CREATE TABLE upstream_sessions (
  sid         TEXT    NOT NULL REFERENCES user_sessions (sid) ON DELETE CASCADE,
  session_key TEXT    NOT NULL,                -- of the provider, its issuer and its sid; without a sid: of the person
  subject_key TEXT    NOT NULL,                -- of the provider, its issuer and its sub
  issued_at   INTEGER NOT NULL,                -- iat of the ID token, in seconds of the provider's clock
  as_of       INTEGER NOT NULL,                -- the newest seq of upstream_endings when the person left for the provider
  PRIMARY KEY (sid, session_key)
) WITHOUT ROWID;
CREATE INDEX upstream_sessions_by_session ON upstream_sessions (session_key);
CREATE INDEX upstream_sessions_by_subject ON upstream_sessions (subject_key);

-- What those providers have ended, and the ids of their messages: a sign-in that began before gives no session. Swept daily after until_ms.
CREATE TABLE upstream_endings (
  seq       INTEGER PRIMARY KEY AUTOINCREMENT, -- orders messages and sign-ins; never used again
  name      TEXT    NOT NULL UNIQUE,           -- a session_key or subject_key, or a hash of the message's jti
  issued_at INTEGER NOT NULL,                  -- iat of the message, in seconds of the provider's clock
  until_ms  INTEGER NOT NULL                   -- when no sign-in that began before can be under way any more
);
CREATE INDEX upstream_endings_by_end ON upstream_endings (until_ms);
