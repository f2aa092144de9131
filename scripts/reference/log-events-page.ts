import { logEvents } from "../../packages/shared/src/runtime/log.ts";
import type { LogEvent, LogField } from "../../packages/shared/src/runtime/log-event.ts";
import { generatedNotice, table } from "./markdown.ts";

/** **`docs/reference/log-events.md`**, generated from the table of log events of Workers and objects. */
export function logEventsPage(): string {
  return `# Log events

${generatedNotice("the table of events (`packages/shared/src/runtime/log.ts`)")}

Each line of the log is one JSON object: \`event\` and the fields below. No field holds a secret, a token or the text of a request body. \`requestId\` names the
request: the \`Request-Id\` header of an error response and the reference on an error page have the same value.
[Failures](../operating/failures.md) describes what to do about the warnings and errors.

${table(["Event", "Level", "Meaning", "Fields"], Object.entries(logEvents).map(describeEvent))}
`;
}

function describeEvent([name, { level, meaning, fields }]: readonly [string, LogEvent]): string[] {
  return [`\`${name}\``, level, meaning, Object.entries(fields).map(describeField).join("<br>")];
}

function describeField([name, { type, isOptional, meaning }]: readonly [string, LogField]): string {
  return `\`${name}\` (${type}${isOptional ? ", optional" : ""}): ${meaning}`;
}
