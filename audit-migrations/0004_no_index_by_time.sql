-- Events of a time are found as those of each type, merged (packages/shared/src/audit/list-events.ts): one index less for each event.
DROP INDEX audit_events_by_time;
