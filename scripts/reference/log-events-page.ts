import { cause, type LogEvent, type LogField, requestId } from "../../packages/shared/src/runtime/log-event.ts";
import { type LogEvents, logEvents } from "../../packages/shared/src/runtime/log-events.ts";
import { logLevels } from "../../packages/shared/src/runtime/log-levels.ts";
import { generatedNotice, table } from "./markdown.ts";

/** **`docs/reference/log-events.md`**, generated from the table of log events of Workers and objects. */
export function logEventsPage(): string {
  return `# Log events

${generatedNotice("the table of events (`packages/shared/src/runtime/log-events.ts`)")}

Each line of the log is one JSON object: \`event\` and the fields below, which are texts unless their type is stated. No field contains a secret, a
token or the text of a request body. \`requestId\` is the \`Request-Id\` header of an error response and the reference on an error page. \`cause\` is
the error that was caught. [Failures](../operating/failures.md) describes what to do about the warnings and errors.

${table(["Event", "Level", "Meaning", "Fields"], Object.entries(logEvents).map(describeEvent))}
`;
}

function describeEvent([name, { meaning, fields }]: readonly [string, LogEvent]): string[] {
  return [
    `\`${name}\``,
    logLevels[name as keyof LogEvents],
    meaning,
    Object.entries(fields).map(describeField).join("<br>"),
  ];
}

/** The fields of many events are described once, above the table. */
function describeField([name, field]: readonly [string, LogField]): string {
  const kind = [field.type === "text" ? [] : field.type, field.isOptional ? "optional" : []].flat().join(", ");
  const labelled = `\`${name}\`${kind && ` (${kind})`}`;
  return [requestId.meaning, cause.meaning].includes(field.meaning) ? labelled : `${labelled}: ${field.meaning}`;
}
