-- What npm run deploy chose and must find again: environment, issuer, region, jurisdiction, the master key's fingerprint (never
-- the key), the token with which Workers report their facts. Local runs leave it empty.
CREATE TABLE deployment (
  name      TEXT PRIMARY KEY,
  value     TEXT    NOT NULL,
  set_at_ms INTEGER NOT NULL
) WITHOUT ROWID;
