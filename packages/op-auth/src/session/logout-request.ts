import { readLocales } from "@edge-op/pages/languages";
import { loggedUri, OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import type { Client } from "@edge-op/shared/clients/client";
import type { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { type IdToken, readIdToken } from "@edge-op/shared/tokens/id-token";
import { describeUnregistered } from "../authorization/response-target.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";

export const logoutParameters = [
  "id_token_hint",
  "client_id",
  "post_logout_redirect_uri",
  "state",
  "ui_locales",
] as const;

/**
 * **A checked logout request.** The hint or `client_id` names the client, which must be active and must have registered the redirect URI,
 * byte for byte. With another redirect URI, or a hint that this provider did not issue, nobody is redirected: the request has a `fault`, and the
 * person can sign out all the same.
 *
 * @see https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RPLogout
 */
export interface LogoutRequest {
  readonly hint: IdToken | undefined;
  readonly client: Client | undefined;
  /** Includes `state`. */
  readonly returnTo: string | undefined;
  readonly uiLocales: readonly string[];
  /** Why nobody is redirected. */
  readonly fault?: OAuthError | undefined;
}

export async function checkLogoutRequest(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  parameters: Form,
): Promise<LogoutRequest> {
  const hintText = parameters.get("id_token_hint");
  const hint =
    hintText === undefined ? undefined : await readIdToken(context, isolate, hintText, { acceptExpired: true });
  const named = parameters.get("client_id");
  context.progress.claimedClientId = named ?? hint?.clientId;
  const uiLocales = readLocales(parameters.get("ui_locales"));
  if (hintText !== undefined && hint === undefined) {
    const fault = refusal("logout-hint-invalid", "The id_token_hint is not valid.");
    return { hint, client: undefined, returnTo: undefined, uiLocales, fault };
  }
  if (hint !== undefined && named !== undefined && hint.clientId !== named) {
    const fault = refusal("logout-client-differs", "The id_token_hint was not issued to this client.");
    return { hint, client: undefined, returnTo: undefined, uiLocales, fault };
  }
  const clientId = hint?.clientId ?? named;
  const client = clientId === undefined ? undefined : await isolate.clients.find(context, clientId);
  if (named !== undefined && client?.status !== "active") {
    const fault = refusal("logout-client-unknown", "The client is unknown.");
    return { hint, client: undefined, returnTo: undefined, uiLocales, fault };
  }
  const returnTo = checkReturn(client, parameters);
  if (returnTo instanceof OAuthError) return { hint, client, returnTo: undefined, uiLocales, fault: returnTo };
  return { hint, client, returnTo, uiLocales };
}

function checkReturn(client: Client | undefined, parameters: Form): string | OAuthError | undefined {
  const uri = parameters.get("post_logout_redirect_uri");
  if (uri === undefined) return undefined;
  if (client === undefined) {
    return refusal(
      "logout-uri-without-client",
      "A post_logout_redirect_uri requires an id_token_hint or client_id of a known client.",
      `post_logout_redirect_uri ${loggedUri(uri)}`,
    );
  }
  if (client.status !== "active") return refusal("logout-client-unknown", "The client is unknown.");
  const { post_logout_redirect_uris: registered } = client.metadata;
  if (!registered?.includes(uri)) {
    const description = "The post_logout_redirect_uri is not registered for this client.";
    return refusal(
      "logout-uri-not-registered",
      description,
      describeUnregistered("post_logout_redirect_uri", uri, registered),
    );
  }
  const state = parameters.get("state");
  if (state === undefined) return uri;
  return `${uri}${uri.includes("?") ? "&" : "?"}${new URLSearchParams({ state })}`;
}

function refusal(reason: RefusalReason, description: string, detail?: string): OAuthError {
  return new OAuthError("invalid_request", reason, { description, detail });
}
