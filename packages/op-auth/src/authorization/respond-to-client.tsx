import { redirect, respondPage } from "@edge-op/pages/respond-page";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import { frameOf } from "../pages/frame.ts";
import type { ResponseTarget } from "./checks/authorization-request.ts";
import { FormPostPage } from "./form-post-page.tsx";

/**
 * **Sends an authorization response**, code or error, in the requested response mode, with `state` and `iss`. By `iss`, a client of several
 * providers knows which one sent the response (mix-up attacks).
 *
 * @see https://www.rfc-editor.org/rfc/rfc9207#section-2
 */
export function respondToClient(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  target: ResponseTarget,
  response: Readonly<Record<string, string>>,
  cookies: readonly (string | undefined)[] = [],
): Response | Promise<Response> {
  const { redirectUri, responseMode, state } = target;
  const fields = { ...response, ...(state === undefined ? {} : { state }), iss: context.settings.issuer };
  if (responseMode === "form_post") {
    const page = <FormPostPage frame={frameOf(context, request)} view={{ action: redirectUri, fields }} />;
    return respondPage(page, { cookies, formTarget: redirectUri });
  }
  const parameters = new URLSearchParams(fields).toString();
  return redirect(appendParameters(redirectUri, responseMode, parameters), cookies);
}

/** Edits text, because a URL object could change the bytes of the registered redirect URI. */
function appendParameters(uri: string, mode: "query" | "fragment", parameters: string): string {
  if (mode === "fragment") return `${uri}#${parameters}`;
  const separator = !uri.includes("?") ? "?" : /[?&]$/.test(uri) ? "" : "&";
  return `${uri}${separator}${parameters}`;
}
