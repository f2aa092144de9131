import type { Settings } from "@edge-op/shared/config/settings";
import { type Client, isPublicClient } from "@edge-op/shared/directory/client";
import type { AuthorizationRequest } from "./checks/authorization-request.ts";

/**
 * **Can the code reach nobody but this client?** A client that authenticates must do so to redeem it, whatever its redirect URI; an
 * https redirect reaches the owner of its host. Any program on the device can take a loopback port or a private-use scheme, so
 * earlier consent for a public client there does not identify the program that sends this request. An http issuer is a developer's
 * own machine (settings.ts): there a public `web` client is assured too (ADR 21).
 *
 * @see https://www.rfc-editor.org/rfc/rfc8252#section-8.6
 */
export function isClientAssured(
  { issuer }: Pick<Settings, "issuer">,
  client: Client,
  { redirectUri }: AuthorizationRequest,
): boolean {
  if (!isPublicClient(client)) return true;
  if (new URL(redirectUri).protocol === "https:") return true;
  return issuer.startsWith("http:") && client.metadata.application_type !== "native";
}
