import { redirect, respondPage } from "@edge-op/pages/respond-page";
import type { Client } from "@edge-op/shared/clients/client";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import type { ResponseTarget } from "../authorization/checks/authorization-request.ts";
import type { AuthIsolate } from "../isolate.ts";
import { frameOf } from "../pages/frame.ts";
import { FormPostPage } from "./form-post-page.tsx";
import { signResponse } from "./sign-response.ts";

/**
 * **Sends an authorization response**, code or error, in the requested response mode, with `state` and `iss`, as a signed JWT if the mode requires
 * it. `iss` tells a client of several providers which one sent the response (mix-up attacks). The request id of an error is sent in a header, not as
 * a parameter, because clients may reject parameters that they do not know (ADR 57).
 *
 * @see https://www.rfc-editor.org/rfc/rfc9207#section-2
 */
export async function respondToClient(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  client: Client,
  target: ResponseTarget,
  response: Readonly<Record<string, string>>,
): Promise<Response> {
  const { redirectUri, responseMode, state, isSigned } = target;
  const parameters = { ...response, ...(state === undefined ? {} : { state }), iss: context.settings.issuer };
  const fields: Readonly<Record<string, string>> =
    isSigned === true ? { response: await signResponse(context, isolate, client, parameters) } : parameters;
  const page = <FormPostPage frame={frameOf(context, request)} view={{ action: redirectUri, fields }} />;
  const sent =
    responseMode === "form_post"
      ? await respondPage(page, { formLeaves: true })
      : redirect(appendParameters(redirectUri, responseMode, new URLSearchParams(fields).toString()));
  if (Object.hasOwn(response, "error")) sent.headers.set("Request-Id", context.requestId);
  return sent;
}

/** Edits text, because a URL object could change the bytes of the registered redirect URI. */
function appendParameters(uri: string, mode: "query" | "fragment", parameters: string): string {
  if (mode === "fragment") return `${uri}#${parameters}`;
  const separator = !uri.includes("?") ? "?" : /[?&]$/.test(uri) ? "" : "&";
  return `${uri}${separator}${parameters}`;
}
