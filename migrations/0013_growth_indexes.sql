-- Deleting a client looks for its consents and grants; without an index each deletion reads every row of all users.
CREATE INDEX consents_by_client ON consents (client_id);
CREATE INDEX offline_grants_by_client ON offline_grants (client_id);
-- A daily sweep deletes what has ended. Until now only the next sign-in of the same user did.
CREATE INDEX offline_grants_by_end ON offline_grants (until_ms);
CREATE INDEX user_sessions_by_end ON user_sessions (ends_at_ms);
