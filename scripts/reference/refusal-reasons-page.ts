import { type RefusalReason, refusalReasons } from "../../packages/protocol/src/oauth/refusal-reasons.ts";
import { refusalRemedies } from "../../packages/protocol/src/oauth/refusal-remedies.ts";
import { generatedNotice, table } from "./markdown.ts";

/** **`docs/reference/refusal-reasons.md`**, generated from the table of reasons. */
export function refusalReasonsPage(): string {
  const rows = Object.entries(refusalReasons).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `# Refusal reasons

${generatedNotice("the table of reasons (`packages/protocol/src/oauth/refusal-reasons.ts`) and that of their remedies (`packages/protocol/src/oauth/refusal-remedies.ts`)")}

Each refused request has a line \`refused\` in the log ([log events](log-events.md)): \`code\` is the error code of the response, \`reason\` one of the codes below, and
\`detail\` what is special about the request. The response contains neither reason nor detail, but the header \`Request-Id\`, which is the \`requestId\` of the line. A reason
is stable, to search, count and alert by: its meaning below may be reworded, and \`detail\` too. In development, \`/dev/refusals\` shows all of it ([test provider](../test-provider.md)).

The response of a JWT whose time claims contradict the provider's clock says by how much.

${table(
  ["Reason", "Meaning", "Remedy"],
  rows.map(([code, meaning]) => [`\`${code}\``, meaning, refusalRemedies[code as RefusalReason]]),
)}
`;
}
