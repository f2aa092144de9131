import type { PageFrame } from "@edge-op/pages/layout";
import { chooseLanguage, createTranslator, type Translator } from "@edge-op/pages/translator";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import { readDeployment } from "../deployment.ts";
import { type MessageKey, messages } from "./messages.ts";

export interface AuthPageFrame extends PageFrame {
  readonly t: Translator<MessageKey>;
}

/** **The frame of op-auth's pages**: the layout's, with the texts of op-auth. */
export function frameOf(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  uiLocales: readonly string[] = [],
): AuthPageFrame {
  const language = chooseLanguage(uiLocales, request.headers.get("accept-language"));
  return { t: createTranslator(messages, language), branding: readDeployment(context.env) };
}
