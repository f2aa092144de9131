-- What usernames are compared by: their RFC 8265 UsernameCaseMapped form. A name that has none, or whose form an older user has, is found by
-- its exact spelling: ' ' and the name. NULL: not looked at yet (op-management does at the next creation or renaming of a user).
ALTER TABLE users ADD COLUMN username_key TEXT;
UPDATE users SET username_key = lower(username) WHERE username <> '' AND username NOT GLOB '*[^!-~]*';
CREATE UNIQUE INDEX users_by_username_key ON users (username_key);
