import type { Client } from "@edge-op/shared/directory/client";
import type { AuthorizationRequest } from "./checks/authorization-request.ts";

/**
 * **Can the code reach nobody but this client?** One that authenticates must do so to redeem it, and an https redirect goes where its
 * owner has proven to be. A public client on a loopback port or a private-use scheme is whatever program on the person's
 * device says it is, so what they allowed it once says nothing about who asks now.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8252#section-8.6
 */
export function isClientAssured({ metadata }: Client, { redirectUri }: AuthorizationRequest): boolean {
  return metadata.token_endpoint_auth_method !== "none" || new URL(redirectUri).protocol === "https:";
}
