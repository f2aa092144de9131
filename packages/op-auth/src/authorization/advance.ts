import { redirect, withCookies } from "@edge-op/pages/respond-page";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { Client } from "@edge-op/shared/clients/client";
import { settle } from "@edge-op/shared/control/settle";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthIsolate } from "../isolate.ts";
import type { CodeRequest } from "./checks/authorization-request.ts";
import { isRegisteredRedirectUri } from "./checks/redirect-uri.ts";
import { continueAuthorization } from "./continue-authorization.ts";
import type { Interaction } from "./interaction.ts";
import { refuseToClient, sendRefusal } from "./refuse-to-client.ts";

/**
 * **Continues an authorization request after an interaction** with the next interaction or the response to the client. The client is read
 * again, because it may have been disabled or changed since the request.
 */
export async function advance(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  { purpose, steps }: Interaction,
  sessionId: string | undefined,
  cookies: readonly (string | undefined)[] = [],
): Promise<Response> {
  if (purpose.kind === "account") return redirect(purpose.path, cookies);
  const { request: target, pushedId } = purpose;
  const response = await settle(context, isolate, async (decision) => {
    const client = await requireClient(context, isolate, target);
    try {
      const attempt = { client, request: target, pushedId, sessionId, steps, decision };
      return await continueAuthorization(context, isolate, request, attempt);
    } catch (error) {
      return refuseToClient(context, isolate, request, { client, target, pushedId, decision }, error);
    }
  });
  return withCookies(response, cookies);
}

/** Sends `access_denied` to the client, because the person cancelled. */
export async function deny(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  { purpose }: Interaction,
): Promise<Response> {
  if (purpose.kind === "account") return redirect("/account");
  const { request: target, pushedId } = purpose;
  const client = await settle(context, isolate, () => requireClient(context, isolate, target));
  const refusal = new OAuthError("access_denied", "person-denied");
  return sendRefusal(context, isolate, request, { client, target, pushedId }, refusal);
}

export async function requireClient(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  { clientId, redirectUri }: CodeRequest,
): Promise<Client> {
  const client = await isolate.clients.discover(context, clientId);
  if (client?.status !== "active" || !isRegisteredRedirectUri(client.metadata, redirectUri)) {
    throw new OAuthError("invalid_client", "client-changed", {
      status: 400,
      description: "The application is unknown.",
    });
  }
  return client;
}
