-- Clients that no administrator has registered: those of a metadata document, and those that registered themselves.
ALTER TABLE clients ADD COLUMN origin TEXT;                     -- NULL: an administrator; document | registration
ALTER TABLE clients ADD COLUMN fresh_until_ms INTEGER;          -- of a document: fetched again after this time
ALTER TABLE clients ADD COLUMN used_at_ms INTEGER;              -- last use, to the day; NULL: never used. A daily sweep deletes those without use
ALTER TABLE clients ADD COLUMN registration_mac TEXT;           -- HMAC-SHA-256 of the registration access token (RFC 7592 §3), base64url
CREATE INDEX clients_by_use ON clients (coalesce(used_at_ms, created_at_ms)) WHERE origin IS NOT NULL;
