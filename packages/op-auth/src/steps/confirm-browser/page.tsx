import { respondPage } from "@edge-op/pages/respond-page";
import { createTranslator } from "@edge-op/pages/translator";
import { factorMessages } from "../../factors/messages.ts";
import { CodePage, codeProblemOf, respondingTo } from "../../mailed-codes/code-page.tsx";
import type { StepPageRequest } from "../../step/step.ts";
import { stepFrame } from "../../step/step-request.ts";
import { confirmBrowserMessages } from "./messages.ts";

/** **The page for the code of a new browser.** Cost: 0. */
export async function showConfirmBrowser(at: StepPageRequest): Promise<Response> {
  const { context, authorization, form, flow, restart } = at;
  const frame = stepFrame(at);
  const { language } = frame.t;
  const problem = codeProblemOf(flow.problem, context.arrivedAtMs);
  const { mailed } = flow.marks;
  const view = {
    form,
    mailed: mailed?.purpose === "sign-in" ? mailed : undefined,
    problem,
    canCancel: authorization !== undefined,
    demanded: {
      restart,
      text: createTranslator(confirmBrowserMessages, language)("text"),
      other: {
        name: "account",
        value: "other",
        id: "other-account",
        text: createTranslator(factorMessages, language)("other"),
      },
    },
  };
  const options = { ...respondingTo(problem), formLeaves: authorization !== undefined };
  return respondPage(<CodePage frame={frame} view={view} />, options);
}
