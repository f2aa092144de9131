import { readClientCertificate } from "@edge-op/protocol/mtls/client-certificate";
import { usesCertificate } from "@edge-op/protocol/oauth/registered-names";
import { authenticateClient } from "@edge-op/shared/callers/authenticate-client";
import { sessionIdOf } from "@edge-op/shared/clients/pairwise-subject";
import { longestTokenLifetimeSeconds } from "@edge-op/shared/config/settings";
import { settle } from "@edge-op/shared/control/settle";
import { dismissClient, revokeGrants } from "@edge-op/shared/endings/endings";
import { latestGrantEndMs } from "@edge-op/shared/grants/grant";
import { renderJson, reportFailure } from "@edge-op/shared/http/failure";
import { type EndpointResponse, noStore } from "@edge-op/shared/http/json-response";
import type { Form } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { IdToken } from "@edge-op/shared/tokens/id-token";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import { checkLogoutRequest } from "./logout-request.ts";

/**
 * Whether a POST presents a client's credentials, as no form of a person does. A browser that navigates is never a client, whatever it has stored:
 * a password for this origin, or a certificate.
 */
export async function isClientRequest(
  context: RequestContext<AuthEnv>,
  { clients }: AuthIsolate,
  request: ReceivedRequest,
  form: Form,
): Promise<boolean> {
  if (request.headers.get("sec-fetch-mode") === "navigate") return false;
  if (request.headers.has("authorization")) return true;
  if (form.get("client_secret") !== undefined || form.get("client_assertion") !== undefined) return true;
  const clientId = form.get("client_id");
  if (clientId === undefined || (await readClientCertificate(context, request)) === undefined) return false;
  const client = await clients.find(context, clientId);
  return client !== undefined && usesCertificate(client.metadata.token_endpoint_auth_method);
}

/**
 * **`POST /logout` by a client's back end**, which authenticates and names a login by `id_token_hint`: ends the client's grants of that user and
 * session and its membership in it, as a confirmed write, and the hint's own grant, also one with `offline_access` or of a device. The person's
 * session and other clients stay; cookies count for nothing, and errors are JSON. Cost: 1 object call and those of endings.ts; for a grant
 * that outlives the session, 1 D1 call, 1 object call for each shard that may have its refresh family, and 1.
 */
export async function clientLogout(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  form: Form,
): Promise<EndpointResponse> {
  try {
    const { client, hint } = await settle(context, isolate, async (decision) => {
      const authenticated = await authenticateClient(context, isolate, request, form, "/logout");
      form.require("id_token_hint");
      const checked = await checkLogoutRequest(context, isolate, form.with("client_id", authenticated.clientId));
      if (checked.fault !== undefined) throw checked.fault;
      await decision.commit();
      return { client: authenticated, hint: checked.hint! };
    });
    await endLogin(context, isolate, client.clientId, hint);
    return new Response(null, { headers: noStore });
  } catch (error) {
    return renderJson(reportFailure(error, context, request));
  }
}

async function endLogin(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  clientId: string,
  { id: { address, grantId }, sid }: IdToken,
): Promise<void> {
  const part = sid === undefined ? undefined : { sid: await sessionIdOf(context.env, sid), clientId };
  const ended = part && (await dismissClient(context, isolate, part, "logout by the client"));
  if (ended?.has(grantId) === true) return;
  const untilMs = latestGrantEndMs(context.arrivedAtMs);
  const revocation = { grant: { grantId, address }, clientId, reason: "client_logout", untilMs } as const;
  const tokensEndAtMs = context.arrivedAtMs + longestTokenLifetimeSeconds * 1000;
  await revokeGrants(context, isolate, [await isolate.refreshFamilies.endWherever(context, revocation, tokensEndAtMs)]);
}
