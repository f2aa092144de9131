import { Layout } from "@edge-op/pages/layout";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { createTranslator } from "@edge-op/pages/translator";
import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import { AddressForm, CodePage, CodeProblemNote, codeProblemOf, respondingTo } from "../../mailed-codes/code-page.tsx";
import { OtherWays } from "../../pages/other-ways.tsx";
import { formLeaves } from "../../upstream/discovery.ts";
import type { StepPageRequest } from "../step.ts";
import { stepFrame } from "../step-frame.ts";
import { recoverMessages } from "./messages.ts";

/** **The page for an address, then the one for its code.** The same for every address. Cost: 0. */
export async function showRecover(at: StepPageRequest): Promise<Response> {
  const { context, authorization, form, flow, restart } = at;
  if (context.settings.mailProvider === "off") return redirect(restart);
  const frame = stepFrame(at);
  const problem = codeProblemOf(flow.problem, context.arrivedAtMs);
  const options = { ...respondingTo(problem), formLeaves: await formLeaves(at) };
  const { mailed } = flow.marks;
  if (mailed?.purpose === "recover") {
    const view = { form, mailed, problem, canCancel: authorization !== undefined };
    return respondPage(<CodePage frame={frame} view={view} />, options);
  }
  const t = createTranslator(recoverMessages, frame.t.language);
  const isInvalid = problem?.kind === "invalidAddress";
  // A name that was typed on the sign-in page may be an address.
  const address = isInvalid ? flow.typed : parseEmailAddress(flow.typed ?? "")?.address;
  const page = (
    <Layout {...frame} title={t("title")}>
      <div class="head">
        <h1>{t("title")}</h1>
        <p class="muted">{t("text")}</p>
      </div>
      <CodeProblemNote frame={frame} problem={problem} />
      <AddressForm frame={frame} form={form} address={address} isInvalid={isInvalid} />
      {authorization && <OtherWays frame={frame} form={form} canCancel />}
    </Layout>
  );
  return respondPage(page, options);
}
