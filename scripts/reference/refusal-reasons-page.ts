import { refusalReasons } from "../../packages/protocol/src/oauth/refusal-reasons.ts";
import { generatedNotice, table } from "./markdown.ts";

/** **`docs/reference/refusal-reasons.md`**, generated from the table of reasons. */
export function refusalReasonsPage(): string {
  const rows = Object.entries(refusalReasons).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `# Refusal reasons

${generatedNotice("the table of reasons (`packages/protocol/src/oauth/refusal-reasons.ts`)")}

Each refused request has a line \`refused\` in the log ([log events](log-events.md)). \`reason\` is one of the codes below. A code is stable; its
meaning may be reworded. The response contains no reason; its header \`Request-Id\` is the \`requestId\` of the line. \`edge-op why <reason>\` prints
the remedy of a reason and the page about it, as \`edge-op why <request-id>\` does for a request
([investigate](../operating/investigate.md#why-was-this-refused)). In development, \`/dev/refusals\` shows both.

${table(
  ["Reason", "Meaning"],
  rows.map(([code, meaning]) => [`\`${code}\``, meaning]),
)}
`;
}
