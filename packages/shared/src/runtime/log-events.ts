import { isolateEvents } from "./isolate-events.ts";
import { requestEvents } from "./request-events.ts";
import { stateEvents } from "./state-events.ts";

/**
 * **The events that Workers and objects log.** The types of `log` and `docs/reference/log-events.md` are both made from this table, which no Worker
 * contains. No field contains a secret, a token or the text of a request body.
 */
export const logEvents = { ...requestEvents, ...isolateEvents, ...stateEvents } as const;

export type LogEvents = typeof logEvents;
