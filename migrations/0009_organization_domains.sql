-- Domains of organisations (ADR 72): who has a verified address in a domain may join the organisation for which it is verified. At most 50 of each.
CREATE TABLE organization_domains (
  org_id          TEXT    NOT NULL REFERENCES organizations (org_id) ON DELETE CASCADE,
  domain          TEXT    NOT NULL,            -- A-labels, lower case
  state           TEXT    NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'verified', 'contested', 'lapsed')),
  created_at_ms   INTEGER NOT NULL,
  checked_at_ms   INTEGER NOT NULL DEFAULT 0,  -- of the last look-up; 0: none
  verified_at_ms  INTEGER,                     -- the last time it became verified
  absent_since_ms INTEGER,                     -- the first look-up since which the record is absent
  PRIMARY KEY (org_id, domain)
) WITHOUT ROWID;
-- A domain is verified for one organisation at most, whatever two requests decide at the same time.
CREATE UNIQUE INDEX organization_domains_verified ON organization_domains (domain) WHERE state = 'verified';
-- Which organisations have proven it, whatever became of it. Claims alone are not read.
CREATE INDEX organization_domains_held ON organization_domains (domain) WHERE state <> 'pending';
-- What the weekly look-up reads.
CREATE INDEX organization_domains_due ON organization_domains (checked_at_ms) WHERE state = 'verified';
