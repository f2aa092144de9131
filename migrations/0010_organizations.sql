-- Organisations: the companies for which people use applications. A grant belongs to one or to none (ADR 72).
CREATE TABLE organizations (
  org_id        TEXT PRIMARY KEY,
  status        TEXT    NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  document      TEXT    NOT NULL,              -- name, JSON
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  name_key TEXT AS (lower(document ->> '$.name')) VIRTUAL
) WITHOUT ROWID;
CREATE INDEX organizations_by_name ON organizations (name_key, org_id);
CREATE INDEX organizations_by_status ON organizations (status, org_id);

-- Who is a member of which organisation: at most 200 of a person. A copy is deleted by the change; its absence has no copy.
CREATE TABLE memberships (
  sub           TEXT    NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  org_id        TEXT    NOT NULL REFERENCES organizations (org_id) ON DELETE CASCADE,
  status        TEXT    NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  source        TEXT    NOT NULL,              -- administrator | import
  joined_at_ms  INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (sub, org_id)
) WITHOUT ROWID;
CREATE INDEX memberships_by_organization ON memberships (org_id, sub);

-- Roles of a member, in this organisation only.
CREATE TABLE membership_roles (
  sub    TEXT NOT NULL,
  org_id TEXT NOT NULL,
  role   TEXT NOT NULL,
  PRIMARY KEY (sub, org_id, role),
  FOREIGN KEY (sub, org_id) REFERENCES memberships (sub, org_id) ON DELETE CASCADE
) WITHOUT ROWID;

-- Permissions of a role that members may have: the same roles for every organisation, and others than those of the deployment.
CREATE TABLE organization_role_permissions (
  role       TEXT NOT NULL,
  permission TEXT NOT NULL,
  PRIMARY KEY (role, permission)
) WITHOUT ROWID;
