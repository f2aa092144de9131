import { requestedDetails } from "@edge-op/shared/clients/requested-access";
import type { AuthorizationRequest } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";

/** **`authorization_details`.** @see https://www.rfc-editor.org/rfc/rfc9396#section-5 */
export function checkAuthorizationDetails({
  context,
  client,
  parameters,
}: Pick<CheckInput, "context" | "client" | "parameters">): Pick<AuthorizationRequest, "authorizationDetails"> {
  return {
    authorizationDetails: requestedDetails(context.settings, client, parameters.get("authorization_details")),
  };
}
