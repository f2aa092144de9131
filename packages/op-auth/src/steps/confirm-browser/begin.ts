import { verifiedAddress } from "@edge-op/shared/users/user-addresses";
import { requestCode } from "../../mailed-codes/mailed-code.ts";
import { frameOf } from "../../pages/frame.ts";
import type { Flow } from "../../step/flow.ts";
import type { BegunFlow } from "../../step/step.ts";
import { localesOf } from "../../step/step-request.ts";

/** **Mails the code to the person's main address.** Cost: 1 object call. */
export async function beginConfirmBrowser(at: BegunFlow, sub: string): Promise<Pick<Flow, "marks" | "problem">> {
  const { context, isolate, request, flow, browser } = at;
  const user = await isolate.users.find(context, sub);
  const address = user && verifiedAddress(user.claims);
  const marks = { ...flow.marks, mailed: undefined };
  if (address === undefined) return { marks };
  const { language } = frameOf(context, request, localesOf(flow.purpose)).t;
  const requested = await requestCode(at, { browser, id: flow.fid }, { purpose: "sign-in", address, language });
  if (requested.kind === "sent") return { marks: { ...marks, mailed: requested.mailed } };
  return { marks, problem: { kind: "throttled", untilMs: context.arrivedAtMs + requested.seconds * 1000 } };
}
