import type { RequestContext } from "../http/request-context.ts";
import { log } from "../runtime/log.ts";
import type { LogEventName, LogFields } from "../runtime/log-events.ts";

/** **Logs what a decision has found**, once it stands: an attempt that is made again logs nothing (control/settle.ts). Outside of a decision, at once. */
export function logDecided<Name extends LogEventName>(
  { progress }: Pick<RequestContext<unknown>, "progress">,
  event: Name,
  fields: LogFields<Name>,
): void {
  const write = () => log(event, fields);
  if (progress.reads === undefined) write();
  else progress.reads.whenDecided(write);
}
