-- The control version up to which everything of a user ('nb:sub:…'), client ('nb:client:…') or of the deployment ('nb:tenant:default') is
-- revoked (ADR 26). Read with the user's and the client's record; kept apart from them, because an id may be used again after its record
-- was deleted. Written in the transaction of the change; ControlPlane keeps a copy, and writes it again if this database was restored.
-- Deleted at until_ms, when no grant of before can be alive.
CREATE TABLE cut_offs (
  key             TEXT    PRIMARY KEY,
  version         INTEGER NOT NULL,
  not_before_ms   INTEGER NOT NULL,
  versioned_at_ms INTEGER NOT NULL,
  until_ms        INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX cut_offs_by_death ON cut_offs (until_ms);
