import { type Call, hasFlag, type Option } from "./command.ts";
import { Failure, usageFailure } from "./failure.ts";

export const yesOption: Option = {
  name: "yes",
  kind: "flag",
  description: "Do not ask. Needed where nobody can answer.",
};

/** **Asks a person at a terminal before something is changed.** Elsewhere the command line must say `--yes`: a script that names the wrong variable deletes nothing. */
export async function requireConsent(call: Pick<Call, "terminal" | "options">, question: string): Promise<void> {
  if (hasFlag(call, "yes")) return;
  if (!call.terminal.isInteractive) throw usageFailure("Nobody can answer here: add --yes. Nothing was changed.");
  const answer = await call.terminal.ask(`${question} (yes/no) `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure("usage", "Nothing was changed.", { declined: true });
}
