-- A registration access token (RFC 7592 §3) is a MAC of the client_id: nothing of it is stored.
ALTER TABLE clients DROP COLUMN registration_mac;
-- Counted at each registration: those that nobody has agreed to yet are limited.
CREATE INDEX clients_unused ON clients (created_at_ms) WHERE origin = 'registration' AND used_at_ms IS NULL;
-- Deleted users: their subs are never given to anyone else.
CREATE TABLE retired_subs (
  hash BLOB PRIMARY KEY                        -- the first half of the SHA-256 of the sub
) WITHOUT ROWID;
-- One issuer has one record, however its name ends.
CREATE UNIQUE INDEX trusted_issuers_by_name ON trusted_issuers (rtrim(issuer, '/'));
