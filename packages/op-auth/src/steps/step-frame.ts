import { readLocales } from "@edge-op/pages/languages";
import { type AuthPageFrame, frameOf } from "../pages/frame.ts";
import type { Purpose } from "./flow.ts";
import type { StepRequest } from "./step.ts";

/** **The frame of a step's page**, in the language that the request of the flow asks for. */
export function stepFrame({ context, request, authorization, flow }: StepRequest): AuthPageFrame {
  return frameOf(context, request, authorization?.request.uiLocales ?? localesOf(flow.purpose));
}

/** The `ui_locales` of what a person is doing: of the client's request, or of the page that they sign in to. */
export function localesOf(purpose: Purpose): readonly string[] {
  if (purpose.kind === "account") return readLocales(new URLSearchParams(purpose.path.split("?")[1]).get("ui_locales"));
  const [, [locales] = []] = purpose.parameters.find(([name]) => name === "ui_locales") ?? [];
  return readLocales(locales);
}
