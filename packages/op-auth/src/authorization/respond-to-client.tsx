import type { Script } from "@edge-op/pages/assets";
import { Layout } from "@edge-op/pages/layout";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import type { Client } from "@edge-op/shared/clients/client";
import { encryptForClient } from "@edge-op/shared/clients/encrypt-for-client";
import { signatureFor } from "@edge-op/shared/clients/security-profile";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { type AuthPageFrame, frameOf } from "../pages/frame.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import type { ResponseTarget } from "./authorization-request.ts";

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
  const page = <FormPostPage frame={await frameOf(context, request)} view={{ action: redirectUri, fields }} />;
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

export const submitScript: Script = { name: "submit.js", body: "document.forms[0].submit();" };

export interface FormPostView {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * **The form that posts an authorization response to the client**, by script or by its button.
 *
 * @see https://openid.net/specs/oauth-v2-form-post-response-mode-1_0.html
 */
function FormPostPage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: FormPostView }) {
  const { t } = frame;
  return (
    <Layout {...frame} location={undefined} title={t("redirect.title")} scripts={[submitScript]} submitsOnce={false}>
      <form method="post" action={view.action} class="head">
        <h1>{t("redirect.title")}</h1>
        {Object.entries(view.fields).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <div class="actions">
          <button type="submit" class="quiet">
            {t("redirect.submit")}
          </button>
        </div>
      </form>
    </Layout>
  );
}

/** The code inside is valid for 60 seconds; JARM §2.1 recommends 600 at most. */
const lifetimeSeconds = 120;

/**
 * **The `response` of an authorization response in JWT form** (JARM): its parameters, for this client alone and for a short time, signed and, if the
 * client registered that, encrypted. It has no `typ`, so that it cannot be mistaken for another token of this provider. Cost: 1 signature.
 *
 * @see https://openid.net/specs/oauth-v2-jarm-final.html#section-2.1
 */
async function signResponse(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  client: Client,
  parameters: Readonly<Record<string, string>>,
): Promise<string> {
  const { authorization_signed_response_alg: registered } = client.metadata;
  const text = await isolate.keyRing.sign(context, {
    alg: signatureFor(context.settings, client, registered, "RS256"),
    typ: undefined,
    claims: { ...parameters, aud: client.clientId, exp: toSeconds(context.arrivedAtMs) + lifetimeSeconds },
  });
  return encryptForClient(context, isolate.clientKeys, client, "authorization", { text, isJwt: true });
}
