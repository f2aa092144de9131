import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { authenticateClient } from "@edge-op/shared/callers/authenticate-client";
import type { Form } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { TokenEnv } from "@edge-op/workers/env";
import { authenticateWorkload, isWorkloadRequest } from "./external/external-assertion.ts";
import type { GrantRequest } from "./grant-module.ts";
import type { TokenIsolate } from "./isolate.ts";

/**
 * **The client of a token request**: it has authenticated, or the rule of a trusted issuer names it for a workload without a secret. Cost warm: 0
 * calls.
 */
export async function identifyClient(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  request: ReceivedRequest,
  form: Form,
): Promise<Pick<GrantRequest, "client" | "accepted">> {
  const identified: Pick<GrantRequest, "client" | "accepted"> = isWorkloadRequest(request, form)
    ? await authenticateWorkload(context, isolate, request, form)
    : { client: await authenticateClient(context, isolate, request, form, "/token") };
  await refuseIdOfResource(context, isolate, identified);
  return identified;
}

/**
 * Only the URL of a metadata document can be both a client's id and a resource's identifier. With access tokens of the type `JWT`, the resource
 * could not tell them from the client's ID tokens (RFC 9068 §5).
 */
async function refuseIdOfResource(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  { client: { clientId, origin } }: Pick<GrantRequest, "client">,
): Promise<void> {
  if (origin !== "document") return;
  const resource = await isolate.resources.find(context, clientId);
  if (resource?.metadata.access_token_typ !== "JWT") return;
  throw new OAuthError("unauthorized_client", "client-is-resource", {
    description: "The client_id is the identifier of a resource whose access tokens have the type of ID tokens.",
  });
}
