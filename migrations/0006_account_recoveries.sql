-- Recoveries by mail alone (RECOVERY=address): one for a person, from its request to its use, its stop or its end.
CREATE TABLE account_recoveries (
  sub           TEXT PRIMARY KEY REFERENCES users (sub) ON DELETE CASCADE,
  recovery_id   TEXT    NOT NULL,              -- named by the links that stop it
  address_key   TEXT    NOT NULL,              -- the verified address with which it was asked for, and can be used
  asked_at_ms   INTEGER NOT NULL,              -- usable a day later
  stopped_at_ms INTEGER,                       -- NULL: nobody has stopped it
  until_ms      INTEGER NOT NULL               -- its end; of one that was stopped, when the next one may be asked for
) WITHOUT ROWID;
CREATE INDEX account_recoveries_by_end ON account_recoveries (until_ms);
