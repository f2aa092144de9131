-- KeyManager's schedule with wrapped private keys, for isolates that KeyManager does not respond to: parts of a JSON array, of one control version.
CREATE TABLE key_schedule (
  part     INTEGER PRIMARY KEY,
  version  INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  keys     TEXT NOT NULL
);
