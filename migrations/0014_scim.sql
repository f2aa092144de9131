-- SCIM 2.0 (RFC 7643, RFC 7644): what the directory of an organisation says of its people. Everything ends with the organisation.

-- Bearer tokens of directories: at most five of an organisation. Read at each request, so that a deleted one is refused at once. Swept daily after
-- expires_at_ms.
CREATE TABLE scim_tokens (
  id            TEXT PRIMARY KEY,
  org_id        TEXT    NOT NULL REFERENCES organizations (org_id) ON DELETE CASCADE,
  name          TEXT    NOT NULL,
  secret        TEXT    NOT NULL,              -- its SHA-256, sealed for this row; never the secret itself
  sealed_by     TEXT    NOT NULL,              -- fingerprint of the master key that sealed it
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX scim_tokens_by_organization ON scim_tokens (org_id, id);
CREATE INDEX scim_tokens_by_end ON scim_tokens (expires_at_ms);

-- People as the directory names them. sub NULL: pending, nobody is connected and nothing is given.
CREATE TABLE scim_users (
  org_id          TEXT    NOT NULL REFERENCES organizations (org_id) ON DELETE CASCADE,
  scim_id         TEXT    NOT NULL,            -- random, after the time of its creation
  sub             TEXT REFERENCES users (sub) ON DELETE CASCADE,
  created_account INTEGER NOT NULL,            -- 1: SCIM of this organisation created the account
  external_id     TEXT,
  user_name_key   TEXT    NOT NULL,
  email_key       TEXT,                        -- of the primary address, as the directory gives it
  display_key     TEXT,
  active          INTEGER NOT NULL,
  document        TEXT    NOT NULL,            -- the attributes of the schema, JSON, at most 8 KiB
  suspended_at_ms INTEGER,                     -- version of the membership and account that SCIM suspended: nobody has changed them since
  created_at_ms   INTEGER NOT NULL,
  version         INTEGER NOT NULL,            -- time of the last change
  PRIMARY KEY (org_id, scim_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX scim_users_by_name ON scim_users (org_id, user_name_key);
CREATE UNIQUE INDEX scim_users_by_external_id ON scim_users (org_id, external_id) WHERE external_id IS NOT NULL;
CREATE UNIQUE INDEX scim_users_by_sub ON scim_users (sub, org_id) WHERE sub IS NOT NULL;
CREATE INDEX scim_users_by_email ON scim_users (org_id, email_key, scim_id) WHERE email_key IS NOT NULL;
CREATE INDEX scim_users_by_display_name ON scim_users (org_id, display_key, scim_id) WHERE display_key IS NOT NULL;
CREATE INDEX scim_users_by_state ON scim_users (org_id, active, scim_id);

CREATE TABLE scim_groups (
  org_id        TEXT    NOT NULL REFERENCES organizations (org_id) ON DELETE CASCADE,
  group_id      TEXT    NOT NULL,
  external_id   TEXT,
  display_name  TEXT    NOT NULL,
  display_key   TEXT    NOT NULL,
  created_at_ms INTEGER NOT NULL,
  version       INTEGER NOT NULL,              -- time of the last change, of its members too
  PRIMARY KEY (org_id, group_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX scim_groups_by_name ON scim_groups (org_id, display_key);
CREATE UNIQUE INDEX scim_groups_by_external_id ON scim_groups (org_id, external_id) WHERE external_id IS NOT NULL;

CREATE TABLE scim_members (
  org_id   TEXT NOT NULL,
  group_id TEXT NOT NULL,
  scim_id  TEXT NOT NULL,
  PRIMARY KEY (org_id, group_id, scim_id),
  FOREIGN KEY (org_id, group_id) REFERENCES scim_groups (org_id, group_id) ON DELETE CASCADE,
  FOREIGN KEY (org_id, scim_id) REFERENCES scim_users (org_id, scim_id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX scim_members_by_user ON scim_members (org_id, scim_id, group_id);

-- Which roles of members a group gives: an administrator's decision, by the id of the group. Read with the membership.
CREATE TABLE scim_group_roles (
  org_id   TEXT NOT NULL,
  group_id TEXT NOT NULL,
  role     TEXT NOT NULL,
  PRIMARY KEY (org_id, group_id, role),
  FOREIGN KEY (org_id, group_id) REFERENCES scim_groups (org_id, group_id) ON DELETE CASCADE
) WITHOUT ROWID;
