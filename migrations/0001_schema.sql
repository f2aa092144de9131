-- The control database (binding DB): what is queried and what lives long.

-- Administrative changes, numbered: the number is the control version that every revocation shard repeats. kind: client | user | rbac | keys |
-- generations | …. Rows older than a month are deleted, the newest never.
CREATE TABLE control_changes (
  version INTEGER PRIMARY KEY AUTOINCREMENT,
  kind    TEXT    NOT NULL,
  id      TEXT    NOT NULL,
  at_ms   INTEGER NOT NULL
);

-- How many shards each sharded store has, where, since when. Append-only but for its two end marks.
CREATE TABLE shard_generations (
  store           TEXT    NOT NULL,
  generation      INTEGER NOT NULL,
  regions         TEXT    NOT NULL,            -- JSON { region: { shards, hint } }
  minted_from_ms  INTEGER NOT NULL,
  minted_until_ms INTEGER,                     -- NULL: the newest
  retired         INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (store, generation)
) WITHOUT ROWID;

INSERT INTO control_changes (kind, id, at_ms) VALUES ('generations', '*', 0);
INSERT INTO shard_generations (store, generation, regions, minted_from_ms) VALUES
  ('revocation', 1, '{"wnam":{"shards":8,"hint":"wnam"}}', 0),
  ('refresh',    1, '{"wnam":{"shards":8,"hint":"wnam"}}', 0),
  ('code',       1, '{"wnam":{"shards":8,"hint":"wnam"}}', 0),
  ('session',    1, '{"wnam":{"shards":8,"hint":"wnam"}}', 0),
  ('challenge',  1, '{"wnam":{"shards":8,"hint":"wnam"}}', 0);

-- The control version up to which everything of a user ('nb:sub:…'), client ('nb:client:…') or of the deployment ('nb:tenant:default') is
-- revoked (ADR 28). Read with the user's and the client's record; kept apart from them, because an id may be used again after its record
-- was deleted. Written in the transaction of the change; ControlPlane keeps a copy, and writes it again if this database was restored.
CREATE TABLE cut_offs (
  key      TEXT    PRIMARY KEY,
  version  INTEGER NOT NULL,
  until_ms INTEGER NOT NULL                    -- deleted then: no grant of before can be alive
) WITHOUT ROWID;
CREATE INDEX cut_offs_by_death ON cut_offs (until_ms);
CREATE INDEX cut_offs_by_version ON cut_offs (version);

-- The newest control version that ControlPlane has announced: what a shard may vouch for that ControlPlane does not answer.
CREATE TABLE announced_version (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL
);
INSERT INTO announced_version VALUES (1, 0);

-- Such shards, while they are in use. An announcement waits until the rows that it reads have ended; it deletes those that ended a minute ago.
CREATE TABLE control_registrations (
  shard      TEXT    PRIMARY KEY,
  version    INTEGER NOT NULL,                 -- what the shard contained
  ends_at_ms INTEGER NOT NULL                  -- by the clock of the shard
) WITHOUT ROWID;

-- Records whose later changes a restored database has lost: refused until an administrator decides, whose decision deletes the row (ADR 11).
CREATE TABLE held_records (
  kind       TEXT    NOT NULL,                 -- user | client | issuer | upstream | document-host | resource | role | group | attribute
  id         TEXT    NOT NULL,
  kept       TEXT    NOT NULL,                 -- what the restored record allowed: its status, policy, metadata or values
  lost       TEXT    NOT NULL,                 -- action of the newest change that was lost
  held_at_ms INTEGER NOT NULL,
  PRIMARY KEY (kind, id)
) WITHOUT ROWID;

-- What npm run deploy chose and must find again: environment, issuer, region, jurisdiction, the master key's fingerprint (never
-- the key), the token with which Workers report their facts. Local runs leave it empty.
CREATE TABLE deployment (
  name      TEXT PRIMARY KEY,
  value     TEXT    NOT NULL,
  set_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- KeyManager's schedule with wrapped private keys, for isolates that KeyManager does not respond to: parts of a JSON array, of one control version.
CREATE TABLE key_schedule (
  part     INTEGER PRIMARY KEY,
  version  INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  keys     TEXT    NOT NULL
);

-- Clients of an administrator, of a metadata document, and those that registered themselves.
CREATE TABLE clients (
  client_id        TEXT PRIMARY KEY,
  status           TEXT    NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  metadata         TEXT    NOT NULL,           -- RFC 7591 document and our extensions, JSON
  created_at_ms    INTEGER NOT NULL,
  updated_at_ms    INTEGER NOT NULL,
  origin           TEXT,                       -- NULL: an administrator; document | registration
  fresh_until_ms   INTEGER,                    -- of a document: fetched again after this time
  used_at_ms       INTEGER,                    -- last use, to the day; NULL: never used. A daily sweep deletes those without use
  name_key TEXT AS (lower(metadata ->> '$.client_name')) VIRTUAL
) WITHOUT ROWID;
CREATE INDEX clients_by_use ON clients (coalesce(used_at_ms, created_at_ms)) WHERE origin IS NOT NULL;
-- Lists of the admin API: each page begins where its index does.
CREATE INDEX clients_by_name ON clients (name_key, client_id) WHERE name_key IS NOT NULL;
CREATE INDEX clients_disabled ON clients (client_id) WHERE status = 'disabled';
-- Counted at each registration: those that nobody has agreed to yet are limited.
CREATE INDEX clients_unused ON clients (created_at_ms) WHERE origin = 'registration' AND used_at_ms IS NULL;

-- Several secrets a client: during a rotation the old ones live on until expires_at_ms.
CREATE TABLE client_secrets (
  id            TEXT PRIMARY KEY,
  client_id     TEXT    NOT NULL REFERENCES clients (client_id) ON DELETE CASCADE,
  secret        TEXT    NOT NULL,              -- its SHA-256, sealed for this row; never the secret itself
  sealed_by     TEXT    NOT NULL,              -- fingerprint of the master key that sealed it
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER
) WITHOUT ROWID;
CREATE INDEX client_secrets_by_client ON client_secrets (client_id);

-- Which hosts may publish metadata documents of clients. Read as one record, at most 200 rows; deleted by the admin API.
CREATE TABLE document_hosts (
  host          TEXT    PRIMARY KEY,           -- agent.example.com, *.example.com (every host below it), * (every host)
  policy        TEXT    NOT NULL,              -- deny | ask | allow
  updated_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- APIs that tokens are for (RFC 8707). Caches find them by identifier, the admin API by resource_id.
CREATE TABLE resources (
  identifier    TEXT PRIMARY KEY,              -- absolute URI, compared by code point; never changes
  resource_id   TEXT    NOT NULL UNIQUE,
  metadata      TEXT    NOT NULL,              -- name, scopes, who may ask, what its tokens are like, JSON
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- Issuers whose tokens are accepted as assertions, subject and actor tokens, with their keys and rules (ADR 51).
CREATE TABLE trusted_issuers (
  issuer_id     TEXT PRIMARY KEY,
  issuer        TEXT    NOT NULL UNIQUE,       -- the iss of its tokens
  status        TEXT    NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  document      TEXT    NOT NULL,              -- keys, algorithms, audiences and rules, JSON; never a secret
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) WITHOUT ROWID;
-- One issuer has one record, however its name ends.
CREATE UNIQUE INDEX trusted_issuers_by_name ON trusted_issuers (rtrim(issuer, '/'));

-- Providers of others with which people sign in here (ADR 63). All of them are read as one record, at most 50 rows.
CREATE TABLE upstreams (
  upstream_id   TEXT PRIMARY KEY,
  status        TEXT    NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  document      TEXT    NOT NULL,              -- issuer, client, rules, JSON; never a secret
  secret        TEXT,                          -- client secret or private key, sealed for this upstream_id; NULL: none
  sealed_by     TEXT,                          -- fingerprint of the master key that sealed it
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- Attributes that users may have, and the claims to which they are mapped (ADR 18). Those that are mapped are read as one record.
CREATE TABLE attributes (
  name          TEXT PRIMARY KEY,
  document      TEXT    NOT NULL,              -- type, limits, words, claim, JSON; 64 K characters of all rows together
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- People. Deleting one deletes their rows of every table that refers to this one.
CREATE TABLE users (
  sub           TEXT PRIMARY KEY,
  username      TEXT    NOT NULL,              -- as it was given
  username_key  TEXT    NOT NULL UNIQUE,       -- what it is compared by: its RFC 8265 UsernameCaseMapped form (ADR 9)
  status        TEXT    NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  claims        TEXT    NOT NULL DEFAULT '{}', -- OIDC Core §5.1 standard claims, JSON
  attributes    TEXT    NOT NULL DEFAULT '{}', -- values by the names of declared attributes, JSON; deleted with the declaration
  factor_epoch  INTEGER NOT NULL DEFAULT 0,    -- counts removed factors: remembered devices of an earlier epoch are forgotten
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  deletes_at_ms INTEGER,                       -- the person has asked for it: erased then; NULL: never
  email_key TEXT AS (lower(claims ->> '$.email')) VIRTUAL,
  name_key TEXT AS (lower(claims ->> '$.name')) VIRTUAL
) WITHOUT ROWID;

-- Lists of the admin API: each page begins where its index does.
CREATE INDEX users_by_email ON users (email_key, sub) WHERE email_key IS NOT NULL;
CREATE INDEX users_by_name ON users (name_key, sub) WHERE name_key IS NOT NULL;
-- What the deletion of an attribute reads.
CREATE INDEX users_with_attributes ON users (sub) WHERE attributes <> '{}';
CREATE INDEX users_suspended ON users (sub) WHERE status = 'suspended';
CREATE INDEX users_leaving ON users (deletes_at_ms) WHERE deletes_at_ms IS NOT NULL;

-- Deleted users: their subs are never given to anyone else. The audit database has the same rows, which a restored database would lack.
CREATE TABLE retired_subs (
  hash BLOB PRIMARY KEY                        -- MAC of the sub, 16 bytes
) WITHOUT ROWID;

-- Verified e-mail addresses: each has one person. What nobody has verified is only in the claims. The primary one is in the claims too.
CREATE TABLE user_addresses (
  address_key    TEXT    PRIMARY KEY,          -- in lower case, the domain as A-label
  sub            TEXT    NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  address        TEXT,                         -- as mail is sent to it; NULL: as address_key
  verified_at_ms INTEGER NOT NULL,
  held_until_ms  INTEGER                       -- replaced by another one: until then the person may take it back, and nobody else gets it
) WITHOUT ROWID;
CREATE INDEX user_addresses_by_user ON user_addresses (sub);
CREATE INDEX user_addresses_by_end ON user_addresses (held_until_ms) WHERE held_until_ms IS NOT NULL;

-- Invitations that nobody has accepted. The link of one contains a MAC over its id, which is not stored. Used, withdrawn or swept.
CREATE TABLE invitations (
  id            TEXT    PRIMARY KEY,
  address_key   TEXT    NOT NULL UNIQUE,
  address       TEXT    NOT NULL,              -- as mail is sent to it
  document      TEXT    NOT NULL,              -- name, roles and groups of the person, JSON
  inviter       TEXT    NOT NULL,              -- subject of the admin token
  created_at_ms INTEGER NOT NULL,
  until_ms      INTEGER NOT NULL               -- seven days later
) WITHOUT ROWID;
CREATE INDEX invitations_by_end ON invitations (until_ms);

-- Roles of a user, in addition to those of their groups.
CREATE TABLE user_roles (
  sub  TEXT NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  role TEXT NOT NULL,
  PRIMARY KEY (sub, role)
) WITHOUT ROWID;

-- Groups of a user.
CREATE TABLE user_groups (
  sub        TEXT NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  group_name TEXT NOT NULL,
  PRIMARY KEY (sub, group_name)
) WITHOUT ROWID;

-- Roles that every member of a group has.
CREATE TABLE group_roles (
  group_name TEXT NOT NULL,
  role       TEXT NOT NULL,
  PRIMARY KEY (group_name, role)
) WITHOUT ROWID;

-- Permissions of a role.
CREATE TABLE role_permissions (
  role       TEXT NOT NULL,
  permission TEXT NOT NULL,
  PRIMARY KEY (role, permission)
) WITHOUT ROWID;

-- Passwords.
CREATE TABLE user_passwords (
  sub           TEXT PRIMARY KEY REFERENCES users (sub) ON DELETE CASCADE,
  hash          TEXT    NOT NULL,              -- with its function and cost: $scrypt$ln=14,r=8,p=5$salt$hash, or as imported
  updated_at_ms INTEGER NOT NULL,
  temporary_until_ms INTEGER                   -- an administrator's: until then the person replaces it, and does nothing else by it; NULL: their own
) WITHOUT ROWID;
CREATE INDEX user_passwords_by_end ON user_passwords (temporary_until_ms) WHERE temporary_until_ms IS NOT NULL;

-- Passkeys. The id is the authenticator's, base64url: it finds the person of a discoverable sign-in.
CREATE TABLE webauthn_credentials (
  credential_id   TEXT PRIMARY KEY,
  sub             TEXT    NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  public_key      TEXT    NOT NULL,            -- COSE key, base64url
  sign_count      INTEGER NOT NULL,            -- 0 for ever with synced passkeys
  transports      TEXT    NOT NULL DEFAULT '[]',
  backed_up       INTEGER NOT NULL DEFAULT 0,
  name            TEXT    NOT NULL,            -- what the person sees in the list
  created_at_ms   INTEGER NOT NULL,
  last_used_at_ms INTEGER,
  imported        INTEGER NOT NULL DEFAULT 0   -- 1: registered at another provider, whose user handle is not derived from sub
) WITHOUT ROWID;
CREATE INDEX webauthn_credentials_by_user ON webauthn_credentials (sub);

-- Authenticator apps (TOTP, RFC 6238).
CREATE TABLE user_totp (
  sub             TEXT    NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  factor_id       TEXT    NOT NULL,
  secret          TEXT    NOT NULL,            -- sealed for this sub and factor_id: another row's secret does not open
  sealed_by       TEXT    NOT NULL,            -- fingerprint of the master key that sealed it
  last_step       INTEGER NOT NULL,            -- the 30 seconds of the last accepted code: it and earlier ones are refused
  created_at_ms   INTEGER NOT NULL,
  last_used_at_ms INTEGER,
  PRIMARY KEY (sub, factor_id)
) WITHOUT ROWID;

-- The eight recovery codes of a person.
CREATE TABLE user_recovery_codes (
  sub           TEXT PRIMARY KEY REFERENCES users (sub) ON DELETE CASCADE,
  set_id        TEXT    NOT NULL,
  hashes        TEXT    NOT NULL,              -- 8 × 16 bytes of SHA-256 of sub and code (120 random bits), base64url
  used          INTEGER NOT NULL DEFAULT 0,    -- bit n: the code n was used
  created_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- Who a person is at an upstream provider. Found by issuer and subject, never by an address. A record whose issuer changes finds none of them.
CREATE TABLE user_identities (
  upstream_id     TEXT    NOT NULL REFERENCES upstreams (upstream_id) ON DELETE CASCADE,
  issuer          TEXT    NOT NULL,
  subject         TEXT    NOT NULL,
  sub             TEXT    NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  label           TEXT    NOT NULL,            -- what the person sees in the list: an address or a name there
  created_at_ms   INTEGER NOT NULL,
  last_used_at_ms INTEGER,
  PRIMARY KEY (upstream_id, issuer, subject)
) WITHOUT ROWID;
CREATE INDEX user_identities_by_user ON user_identities (sub);

-- What a person has agreed that a client may do and know. Taking a consent back deletes the row and ends its grants.
CREATE TABLE consents (
  sub           TEXT    NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  client_id     TEXT    NOT NULL REFERENCES clients (client_id) ON DELETE CASCADE,
  allowed       TEXT    NOT NULL,              -- JSON list of scope values and claim:<name>
  given_at_ms   INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (sub, client_id)
) WITHOUT ROWID;
CREATE INDEX consents_by_client ON consents (client_id);

-- Grants with offline_access, which outlive the session: kept so that a consent taken back can end them. Clustered by their user, without an
-- index by end (a daily sweep reads the table in the order of its key) and without a reference to the client, which would need an index (ADR 27).
CREATE TABLE user_grants (
  sub               TEXT    NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  client_id         TEXT    NOT NULL,
  grant_id          TEXT    NOT NULL,
  generation        INTEGER NOT NULL,          -- its revocation shard
  region            TEXT    NOT NULL,
  shard             INTEGER NOT NULL,
  until_ms          INTEGER NOT NULL,
  family_generation INTEGER,                   -- its refresh family, ended first when the grant is revoked (ADR 16); NULL: it has none
  family_region     TEXT,                      -- NULL: region
  family_shard      INTEGER,
  tokens_end_at_ms  INTEGER,
  PRIMARY KEY (sub, client_id, grant_id)
) WITHOUT ROWID;

-- Where a person is signed in: lets them see it, and lets a consent taken back reach every session.
CREATE TABLE user_sessions (
  sid             TEXT PRIMARY KEY,
  sub             TEXT    NOT NULL REFERENCES users (sub) ON DELETE CASCADE,
  device          TEXT    NOT NULL,            -- "Firefox on Windows", as the browser says
  signed_in_at_ms INTEGER NOT NULL,
  ends_at_ms      INTEGER NOT NULL,
  city            TEXT,                        -- as the platform estimates it from the network address, which is not stored
  country         TEXT                         -- ISO 3166-1 alpha-2
) WITHOUT ROWID;
CREATE INDEX user_sessions_by_user ON user_sessions (sub);
CREATE INDEX user_sessions_by_end ON user_sessions (ends_at_ms);

-- Sessions that an administrator or a new password has ended (ADR 16): written with the change, deleted when the session's object has ended it.
CREATE TABLE ending_sessions (
  sid        TEXT PRIMARY KEY,
  reason     TEXT    NOT NULL,
  ends_at_ms INTEGER NOT NULL                  -- when it would have ended by itself
) WITHOUT ROWID;

-- What was done through the admin API, written in the transaction of the change itself. Never a secret, token or password. Rows are
-- deleted a month after the audit log has them.
CREATE TABLE admin_events (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms      INTEGER NOT NULL,
  action     TEXT    NOT NULL,                 -- client.create, user.update, key.revoke, …
  target     TEXT    NOT NULL,                 -- client_id, sub, kid, …
  client_id  TEXT    NOT NULL,                 -- client of the admin token
  sub        TEXT    NOT NULL,                 -- subject of the admin token: who acted
  detail     TEXT    NOT NULL DEFAULT '{}',    -- JSON: names of the changed fields, numbers
  address    TEXT,                             -- network of the caller: /24 or /48; NULL: nobody acted
  request_id TEXT
);
CREATE INDEX admin_events_by_target ON admin_events (target, at_ms);
