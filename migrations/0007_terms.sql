-- The version of the terms of service that a person has agreed to, and when. NULL: none.
ALTER TABLE users ADD COLUMN terms_version TEXT;
ALTER TABLE users ADD COLUMN terms_accepted_at_ms INTEGER;
-- Lists by version: a deployment without versions has no row in it.
CREATE INDEX users_by_terms ON users (terms_version, sub) WHERE terms_version IS NOT NULL;
