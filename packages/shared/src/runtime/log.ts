import type { LogField } from "./log-event.ts";
import type { LogEvents } from "./log-events.ts";
import { logLevels } from "./log-levels.ts";

/**
 * **Writes one line of JSON to the log**: `event` and the fields of that event, at its level. `log-events.ts` lists the events.
 * Every line of Workers and objects is written here (test/topology/log.test.ts).
 */
export function log<Name extends LogEventName>(event: Name, fields: LogFields<Name>): void {
  console[logLevels[event]](JSON.stringify({ event, ...fields }));
}

export type LogEventName = keyof LogEvents;

interface FieldValues {
  readonly text: string;
  readonly number: number;
  readonly "list of texts": readonly string[];
}

type FieldValue<Field extends LogField> = Field["isOptional"] extends true
  ? FieldValues[Field["type"]] | undefined
  : FieldValues[Field["type"]];

/** The values that a line of an event has. */
export type LogFields<Name extends LogEventName> = {
  readonly [Field in keyof LogEvents[Name]["fields"]]: LogEvents[Name]["fields"][Field] extends LogField
    ? FieldValue<LogEvents[Name]["fields"][Field]>
    : never;
};
