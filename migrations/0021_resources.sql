-- APIs that tokens are for (RFC 8707). Caches find them by identifier, the admin API by resource_id.
CREATE TABLE resources (
  identifier    TEXT PRIMARY KEY,              -- absolute URI, compared by code point; never changes
  resource_id   TEXT    NOT NULL UNIQUE,
  metadata      TEXT    NOT NULL,              -- name, scopes, who may ask, what its tokens are like, JSON
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) WITHOUT ROWID;
