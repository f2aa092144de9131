-- Where a session was opened, as the platform estimates it from the network address: for its owner to recognise it by. The
-- address itself is not stored. Absent for sessions opened before, and where the platform does not know.
ALTER TABLE user_sessions ADD COLUMN city    TEXT;
ALTER TABLE user_sessions ADD COLUMN country TEXT;  -- ISO 3166-1 alpha-2
