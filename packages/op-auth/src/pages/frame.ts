import { chooseLanguage, readLocales } from "@edge-op/pages/languages";
import type { PageFrame } from "@edge-op/pages/layout";
import { createTranslator, type Translator } from "@edge-op/pages/translator";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import { readCookie } from "../browser/cookies.ts";
import { readDeployment } from "../deployment.ts";
import { type MessageKey, messages } from "./messages.ts";

export interface AuthPageFrame<Key extends string = never> extends PageFrame {
  readonly t: Translator<Key | MessageKey>;
}

/**
 * **The frame of op-auth's pages**: the layout's, with the texts that pages share. The language is the one that the person chose with the switch, then
 * as in languages.ts. `uiLocales` are by default those of the page's URL, so an application may also link to `/account?ui_locales=de`.
 */
export function frameOf(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  uiLocales = readLocales(new URL(request.url).searchParams.get("ui_locales")),
): AuthPageFrame {
  const chosen = readCookie(context, request, "op-language") ?? [];
  const language = chooseLanguage([chosen, uiLocales].flat(), request.headers.get("accept-language"));
  return {
    t: createTranslator(messages, language),
    branding: readDeployment(context.env),
    location: locationOf(request),
  };
}

/** The result of a form cannot be loaded again. */
function locationOf({ method, url }: ReceivedRequest): string | undefined {
  if (method !== "GET") return undefined;
  const { pathname, search } = new URL(url);
  return pathname + search;
}
