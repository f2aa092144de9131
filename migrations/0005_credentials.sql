-- How people prove who they are. Deleting a user deletes both.
CREATE TABLE user_passwords (
  sub           TEXT PRIMARY KEY REFERENCES users (sub) ON DELETE CASCADE,
  hash          TEXT    NOT NULL,              -- PHC string with its own cost: $scrypt$ln=14,r=8,p=5$salt$hash
  updated_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

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
  last_used_at_ms INTEGER
) WITHOUT ROWID;
CREATE INDEX webauthn_credentials_by_user ON webauthn_credentials (sub);
