import { isolateEvents } from "./isolate-events.ts";
import type { LogField } from "./log-event.ts";
import { requestEvents } from "./request-events.ts";
import { stateEvents } from "./state-events.ts";

/**
 * **Writes one line of JSON to the log**: `event` and the fields of that event, at its level. {@link logEvents} lists the events.
 * Every line of Workers and objects is written here (test/topology/log.test.ts).
 */
export function log<Name extends LogEventName>(event: Name, fields: LogFields<Name>): void {
  console[logEvents[event].level](JSON.stringify({ event, ...fields }));
}

/**
 * **The events that Workers and objects log.** The types of `log` and `docs/reference/log-events.md` are both made from this table. No field contains
 * a secret, a token or the text of a request body.
 */
export const logEvents = { ...requestEvents, ...isolateEvents, ...stateEvents } as const;

export type LogEventName = keyof typeof logEvents;

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
  readonly [Field in keyof (typeof logEvents)[Name]["fields"]]: (typeof logEvents)[Name]["fields"][Field] extends LogField
    ? FieldValue<(typeof logEvents)[Name]["fields"][Field]>
    : never;
};
