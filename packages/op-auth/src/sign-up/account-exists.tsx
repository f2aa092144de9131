import { MessagePage } from "@edge-op/pages/message-pages";
import { respondPage } from "@edge-op/pages/respond-page";
import { createTranslator } from "@edge-op/pages/translator";
import type { StepPageRequest } from "../step/step.ts";
import { stepFrame } from "../step/step-request.ts";
import { signUpMessages } from "./messages.ts";

/** The result of a step for an address that has an account, shown only to a person who has proven the mailbox. */
export const taken = { kind: "again", problem: { kind: "refused", method: "taken" } } as const;

/** **The page for a person whose address has an account**, with a link to signing in. `undefined` for any other person. */
export async function accountExists(at: StepPageRequest, address: string): Promise<Response | undefined> {
  const { flow, form } = at;
  if (flow.problem?.kind !== "refused" || flow.problem.method !== "taken") return undefined;
  const frame = stepFrame(at);
  const t = createTranslator(signUpMessages, frame.t.language);
  const link = { href: `/flow/sign-in?${new URLSearchParams({ f: form.fields.f })}`, text: t("signIn") };
  return respondPage(<MessagePage frame={frame} title={t("taken")} text={t("takenText", { address })} link={link} />);
}
