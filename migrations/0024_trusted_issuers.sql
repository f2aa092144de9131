-- Issuers whose tokens are accepted as assertions, subject and actor tokens, with their keys and rules (ADR 51).
CREATE TABLE trusted_issuers (
  issuer_id     TEXT PRIMARY KEY,
  issuer        TEXT    NOT NULL UNIQUE,       -- the iss of its tokens
  status        TEXT    NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  document      TEXT    NOT NULL,              -- keys, algorithms, audiences and rules, JSON; never a secret
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) WITHOUT ROWID;
