import { type LogEventName, type LogFields, logEvents } from "./log-events.ts";

/**
 * **Writes one line of JSON to the log**: `event` and the fields of that event, at its level. `log-events.ts` lists the events.
 * Every line of Workers and objects is written here (test/topology/log.test.ts).
 */
export function log<Name extends LogEventName>(event: Name, fields: LogFields<Name>): void {
  console[logEvents[event].level](JSON.stringify({ event, ...fields }));
}
