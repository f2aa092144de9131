import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { authenticateClient, namedClientId } from "@edge-op/shared/callers/authenticate-client";
import { readProof } from "@edge-op/shared/callers/read-proof";
import { canBeAnyone } from "@edge-op/shared/clients/client";
import { type OpenDecision, settle } from "@edge-op/shared/control/settle";
import { JsonResponse } from "@edge-op/shared/http/json-response";
import { readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import { authorizationParameters } from "./authorization-request.ts";
import { bindToProof } from "./check-proofs.ts";
import { checkRequest } from "./check-request.ts";
import { readRequestAhead } from "./find-client.ts";
import { completionMs, formatRequestUri, pushedRequestSeconds, storeBesideCommit } from "./pushed-request.ts";
import { readRequestObject } from "./request-object.ts";
import { checkResponseTarget } from "./response-target.ts";
import { storeParameters, withScope } from "./stored-parameters.ts";

/**
 * **`POST /par`**: stores the authorization request of an authenticated client, with the same checks as /authorize. For clients that anyone can
 * register or impersonate, requests are limited by address. Without a lease the request is stored while the decision is confirmed; nobody learns the
 * `request_uri` of a refused one. Cost warm: 1 object call (a client assertion adds 1, and so does a DPoP proof). Calls that follow one another: 2 in
 * a cold isolate, 1 after a pause, 1 in a busy one.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9126#section-2
 * @see https://www.rfc-editor.org/rfc/rfc9449#section-10.1
 */
export async function parEndpoint(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
): Promise<JsonResponse> {
  const form = readForm(request);
  const decide = async (decision: OpenDecision) => {
    const discovering = { ...isolate, clients: isolate.clients.discovering };
    const client = await authenticateClient(context, discovering, request, form, "/par");
    // Each request stores a row.
    if (canBeAnyone(client)) isolate.rateShield.countAddress(context, request);
    if (form.get("request_uri") !== undefined) throw new OAuthError("invalid_request", "request-uri-pushed");
    const proof = await readProof(context, isolate, request, {
      path: "/par",
      client,
      refuse: (code, reason, options) => new OAuthError(code, reason, options),
    });
    const given = await readRequestObject(context, isolate, client, form);
    context.progress.parameters = given;
    // RFC 9126 §2.1 requires `client_id`, but clients whose credentials identify them omit it.
    const parameters = bindToProof(proof, given.with("client_id", client.clientId));
    const target = checkResponseTarget(context.settings, client, parameters);
    const { scope } = await checkRequest({ context, isolate, client, parameters }, target);
    const stored = { parameters: withScope(parameters, scope), pushedBy: client.clientId };
    const lifetime = { openMs: pushedRequestSeconds * 1000, keptMs: completionMs };
    const kind = "authorization-request";
    const store = () => storeParameters(context, isolate, kind, authorizationParameters, stored, lifetime);
    return formatRequestUri(await storeBesideCommit(decision, proof, store));
  };
  const begun = readRequestAhead({ context, isolate, request }, form, () => namedClientId(request, form));
  const requestUri = await settle(context, isolate, decide, begun);
  return new JsonResponse({ request_uri: requestUri, expires_in: pushedRequestSeconds }, { status: 201 });
}
