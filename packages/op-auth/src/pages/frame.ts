import { createFrame } from "@edge-op/pages/frame";
import { readLocales } from "@edge-op/pages/languages";
import type { PageFrame } from "@edge-op/pages/layout";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { User } from "@edge-op/shared/users/user";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { readDeployment } from "../runtime/deployment.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import { type AuthTranslator, authCatalog } from "./messages.ts";

/** **A request of a browser**, and what serves it. */
export interface PageRequest {
  readonly context: RequestContext<AuthEnv>;
  readonly isolate: AuthIsolate;
  readonly request: ReceivedRequest;
}

export interface AuthPageFrame extends PageFrame {
  readonly t: AuthTranslator;
}

/** **The frame of an account page**: in the language of its person, unless one was chosen in this browser or by an application. */
export function personFrame(
  { context, request }: Pick<PageRequest, "context" | "request">,
  { claims: { locale } }: Pick<User, "claims">,
): Promise<AuthPageFrame> {
  const asked = readLocales(new URL(request.url).searchParams.get("ui_locales"));
  return frameOf(context, request, locale === undefined ? asked : [...asked, locale]);
}

/** **The frame of op-auth's pages**: the layout's, with the texts of op-auth. */
export function frameOf(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  uiLocales?: readonly string[],
): Promise<AuthPageFrame> {
  return createFrame(context, request, readDeployment(context.env), authCatalog, uiLocales);
}
