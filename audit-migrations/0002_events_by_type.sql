-- Two conditions, and types by their beginning: each index has the type before the time, and replaces the one without it. The events of several types
-- are merged (packages/shared/src/audit/list-events.ts), so an event is written to as many indexes as before.
CREATE INDEX audit_events_by_sub_and_type ON audit_events (sub, type, at_ms) WHERE sub IS NOT NULL;
DROP INDEX audit_events_by_sub;
CREATE INDEX audit_events_by_client_and_type ON audit_events (client_id, type, at_ms) WHERE client_id IS NOT NULL;
DROP INDEX audit_events_by_client;
CREATE INDEX audit_events_by_actor_and_type ON audit_events (actor, type, at_ms) WHERE actor IS NOT NULL;
DROP INDEX audit_events_by_actor;
CREATE INDEX audit_events_by_target_and_type ON audit_events (target, type, at_ms) WHERE target IS NOT NULL;
DROP INDEX audit_events_by_target;
