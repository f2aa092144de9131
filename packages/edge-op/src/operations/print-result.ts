import type { Call } from "../console/command.ts";
import { showMembers } from "../console/show.ts";
import type { ApiResponse } from "../provider-api.ts";

/** **Prints the result of one request**: its members, or its JSON. `done` describes a result without content or members. */
export async function printResult(
  { terminal, json }: Pick<Call, "terminal" | "json">,
  { body, headers, text }: ApiResponse,
  done: string,
): Promise<void> {
  if (text === "") {
    if (!json) terminal.note(`${done}\n`);
    return;
  }
  if (json) return terminal.write(`${JSON.stringify(body, null, 2)}\n`);
  const members = showMembers(body);
  if (members.trim() === "") terminal.note(`${done}\n`);
  else await terminal.write(members);
  const etag = headers.get("etag");
  if (etag !== null) terminal.note(`\nVersion: --if-match '${etag}'\n`);
}
