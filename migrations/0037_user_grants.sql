-- Grants with offline_access, clustered by their user: a third of the bytes of a row (ADR 63). Nothing is copied: the rows of before stay where they
-- are until they end, REFRESH_TOKEN_LIFETIME and a day later at most. offline_grants is a view of both; the release before reads and writes it.
ALTER TABLE offline_grants RENAME TO earlier_offline_grants;

-- Without an index by end: a daily sweep reads the table in the order of its key. Without a reference to the client, which would need an index.
CREATE TABLE user_grants (
  sub               TEXT    NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  client_id         TEXT    NOT NULL,
  grant_id          TEXT    NOT NULL,
  generation        INTEGER NOT NULL,          -- its revocation shard
  region            TEXT    NOT NULL,
  shard             INTEGER NOT NULL,
  until_ms          INTEGER NOT NULL,
  family_generation INTEGER,                   -- its refresh family; NULL: none is known
  family_region     TEXT,                      -- NULL: region
  family_shard      INTEGER,
  tokens_end_at_ms  INTEGER,
  PRIMARY KEY (sub, client_id, grant_id)
) WITHOUT ROWID;

CREATE VIEW offline_grants (grant_id, sub, client_id, address, until_ms, family) AS
  SELECT grant_id, sub, client_id, json_object('generation', generation, 'region', region, 'shard', shard), until_ms,
         iif(family_shard IS NULL, NULL, json_object(
           'address', json_object('generation', family_generation, 'region', coalesce(family_region, region), 'shard', family_shard),
           'tokensEndAtMs', tokens_end_at_ms))
    FROM user_grants
  UNION ALL
  SELECT grant_id, sub, client_id, address, until_ms, family FROM earlier_offline_grants;

CREATE TRIGGER offline_grants_insert INSTEAD OF INSERT ON offline_grants
BEGIN
  INSERT INTO earlier_offline_grants (grant_id, sub, client_id, address, until_ms, family)
    VALUES (NEW.grant_id, NEW.sub, NEW.client_id, NEW.address, NEW.until_ms, NEW.family);
END;

CREATE TRIGGER offline_grants_delete INSTEAD OF DELETE ON offline_grants
BEGIN
  DELETE FROM user_grants WHERE sub = OLD.sub AND client_id = OLD.client_id AND grant_id = OLD.grant_id;
  DELETE FROM earlier_offline_grants WHERE grant_id = OLD.grant_id;
END;
