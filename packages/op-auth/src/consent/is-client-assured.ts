import { type Client, isPublicClient } from "@edge-op/shared/clients/client";
import type { Settings } from "@edge-op/shared/config/settings";

/**
 * **Whether only this client can receive the result.** A confidential client authenticates to get its tokens, whatever its redirect
 * URI; an https redirect reaches the owner of its host. Any program on the device can take a loopback port or a private-use scheme, so
 * earlier consent for a public client there does not identify the program that sends this request; the same applies without a redirect
 * URI. An http issuer is a developer's own machine (settings.ts): there a public `web` client is assured too (ADR 9).
 *
 * @see https://www.rfc-editor.org/rfc/rfc8252#section-8.6
 */
export function isClientAssured(
  { issuer }: Pick<Settings, "issuer">,
  client: Client,
  redirectUri: string | undefined,
): boolean {
  if (!isPublicClient(client)) return true;
  if (redirectUri === undefined) return false;
  if (new URL(redirectUri).protocol === "https:") return true;
  return issuer.startsWith("http:") && client.metadata.application_type !== "native";
}
