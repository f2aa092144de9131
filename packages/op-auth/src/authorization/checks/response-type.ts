import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { CheckInput } from "./check-input.ts";

/**
 * **`response_type=code`, for clients that registered it.** The implicit and hybrid types leak tokens through URLs.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-2.1.2
 */
export function checkResponseType({ client, parameters }: CheckInput): void {
  const responseType = parameters.require("response_type");
  if (responseType !== "code") throw new OAuthError("unsupported_response_type", "response-type-unsupported");
  const { grant_types: grantTypes, response_types: responseTypes } = client.metadata;
  if (!grantTypes.includes("authorization_code") || !responseTypes.includes("code")) {
    throw new OAuthError("unauthorized_client", "code-flow-not-registered");
  }
}
