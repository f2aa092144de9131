import { redirect, respondPage } from "@edge-op/pages/respond-page";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import { frameOf } from "../pages/frame.ts";
import type { ResponseTarget } from "./checks/authorization-request.ts";
import { FormPostPage } from "./form-post-page.tsx";

/**
 * **Sends an authorization response**, code or error, the way the client asked, with `state` and with `iss`, so that a client of
 * several providers cannot be misled about which one answers.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9207#section-2
 */
export function respondToClient(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  target: ResponseTarget,
  answer: Readonly<Record<string, string>>,
  cookies: readonly (string | undefined)[] = [],
): Response | Promise<Response> {
  const { redirectUri, responseMode, state } = target;
  const fields = { ...answer, ...(state === undefined ? {} : { state }), iss: context.settings.issuer };
  if (responseMode === "form_post") {
    const page = <FormPostPage frame={frameOf(context, request)} view={{ action: redirectUri, fields }} />;
    return respondPage(page, { cookies, formTarget: redirectUri });
  }
  const parameters = new URLSearchParams(fields).toString();
  return redirect(appendParameters(redirectUri, responseMode, parameters), cookies);
}

/** Text, not a URL object: what the client registered comes back byte for byte. */
function appendParameters(uri: string, mode: "query" | "fragment", parameters: string): string {
  if (mode === "fragment") return `${uri}#${parameters}`;
  const separator = !uri.includes("?") ? "?" : /[?&]$/.test(uri) ? "" : "&";
  return `${uri}${separator}${parameters}`;
}
