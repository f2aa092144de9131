import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { Client } from "@edge-op/shared/clients/client";
import type { OpenDecision } from "@edge-op/shared/control/settle";
import { reportFailure } from "@edge-op/shared/http/failure";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { ShownError } from "../pages/serve-page.tsx";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import type { ResponseTarget } from "./authorization-request.ts";
import { spendPushedRequest } from "./pushed-request.ts";
import { respondToClient } from "./respond-to-client.tsx";

/** The client and the target of a request's response. */
interface Addressee {
  readonly client: Client;
  /** `undefined` until it is known. */
  readonly target: ResponseTarget | undefined;
  readonly pushedId: string | undefined;
}

/**
 * **Decides who receives an error**: the client receives a refusal if its response target is known. All other errors are thrown and shown as a page,
 * as are refusals that only concern the user.
 */
export async function refuseToClient(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  { decision, ...addressee }: Addressee & { readonly decision: OpenDecision },
  error: unknown,
): Promise<Response> {
  const { target } = addressee;
  if (!(error instanceof OAuthError) || error instanceof ShownError || target === undefined) throw error;
  await decision.commit();
  return sendRefusal(context, isolate, request, { ...addressee, target }, error);
}

/** Sends a refusal as the response to the request. */
export async function sendRefusal(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  { client, target, pushedId }: Addressee & { readonly target: ResponseTarget },
  refusal: OAuthError,
): Promise<Response> {
  await spendPushedRequest(context, isolate, pushedId);
  context.progress.claimedClientId = client.clientId;
  context.progress.namesKnownClient = true;
  const { code, description } = reportFailure(refusal, context, request);
  const response = { error: code, error_description: description };
  return respondToClient(context, isolate, request, client, target, response);
}
