-- What was done through the admin API, written in the transaction of the change itself. Never a secret, token or password.
CREATE TABLE admin_events (
  seq       INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms     INTEGER NOT NULL,
  action    TEXT    NOT NULL,                  -- client.create, user.update, key.revoke, …
  target    TEXT    NOT NULL,                  -- client_id, sub, kid, …
  client_id TEXT    NOT NULL,                  -- client of the admin token
  sub       TEXT    NOT NULL,                  -- subject of the admin token: who acted
  detail    TEXT    NOT NULL DEFAULT '{}'      -- JSON: names of the changed fields, numbers
);
CREATE INDEX admin_events_by_target ON admin_events (target, at_ms);
