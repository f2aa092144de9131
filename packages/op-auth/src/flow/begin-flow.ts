import { identifyBrowser } from "@edge-op/pages/cookies";
import { redirect } from "@edge-op/pages/respond-page";
import type { Marks } from "../steps/flow.ts";
import type { BegunFlow, FlowRequest, Step } from "../steps/step.ts";
import { newFlow, pathOf } from "./sealed-flow.ts";

/** **Redirects to the sign-in page, which returns to a path of this origin.** Cost: 0. */
export async function signInFor(
  at: FlowRequest,
  path: string,
  { requiredAcr, ...marks }: Marks & { readonly requiredAcr?: readonly string[] | undefined } = {},
): Promise<Response> {
  const browser = await identifyBrowser(at.context, at.request);
  const flow = await newFlow(at, { kind: "account", path: inSameLanguage(at, path), requiredAcr }, marks);
  return redirect(await pathOf(at, flow, browser, "sign-in"), [browser.setCookie]);
}

/** The path with the `ui_locales` of the page that needs the sign-in. */
function inSameLanguage({ request }: FlowRequest, path: string): string {
  const locales = new URL(request.url).searchParams.get("ui_locales");
  if (locales === null || path.includes("ui_locales=")) return path;
  return `${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams({ ui_locales: locales })}`;
}

/** **The path to the page for a further proof of a person**, of a step that has begun. Cost: that of `begin`, else 0. */
export async function pathToProof(
  at: FlowRequest,
  { flow, browser }: Pick<BegunFlow, "flow" | "browser">,
  step: Step,
  sub: string,
): Promise<string> {
  const begun = step.begin === undefined ? flow : { ...flow, ...(await step.begin({ ...at, flow, browser }, sub)) };
  return pathOf(at, begun, browser, step.name);
}
