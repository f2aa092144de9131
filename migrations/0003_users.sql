CREATE TABLE users (
  sub           TEXT PRIMARY KEY,
  username      TEXT    NOT NULL UNIQUE COLLATE NOCASE,
  status        TEXT    NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  claims        TEXT    NOT NULL DEFAULT '{}', -- OIDC Core §5.1 standard claims, JSON
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE user_roles (
  sub  TEXT NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  role TEXT NOT NULL,
  PRIMARY KEY (sub, role)
) WITHOUT ROWID;

CREATE TABLE user_groups (
  sub        TEXT NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  group_name TEXT NOT NULL,
  PRIMARY KEY (sub, group_name)
) WITHOUT ROWID;

CREATE TABLE group_roles (
  group_name TEXT NOT NULL,
  role       TEXT NOT NULL,
  PRIMARY KEY (group_name, role)
) WITHOUT ROWID;

CREATE TABLE role_permissions (
  role       TEXT NOT NULL,
  permission TEXT NOT NULL,
  PRIMARY KEY (role, permission)
) WITHOUT ROWID;
