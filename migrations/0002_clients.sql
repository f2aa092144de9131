CREATE TABLE clients (
  client_id     TEXT PRIMARY KEY,
  status        TEXT    NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  metadata      TEXT    NOT NULL,              -- RFC 7591 document and our extensions, JSON
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- Several secrets a client: during a rotation the old ones live on until expires_at_ms.
CREATE TABLE client_secrets (
  id            TEXT PRIMARY KEY,
  client_id     TEXT    NOT NULL REFERENCES clients (client_id) ON DELETE CASCADE,
  mac           TEXT    NOT NULL,              -- HMAC-SHA-256 under the pepper, base64url; never the secret
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER
) WITHOUT ROWID;
CREATE INDEX client_secrets_by_client ON client_secrets (client_id);
