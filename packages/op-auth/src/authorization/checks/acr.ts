import { isSupportedAcr } from "@edge-op/protocol/oauth/authentication-context";
import type { ClaimsRequest } from "@edge-op/protocol/oauth/claims-request";
import type { AuthorizationRequest } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";
import { requestedValues } from "./claims.ts";

/** Values beyond this number are ignored. */
const valuesAtMost = 20;

/**
 * **The `acr` values that a client prefers**: a voluntary `acr` claim, else `acr_values`, else the client's `default_acr_values`.
 * Unsupported values are ignored; nothing is refused.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#acrSemantics
 */
export function checkPreferredAcr(
  { client, parameters }: CheckInput,
  claims: ClaimsRequest | undefined,
): Pick<AuthorizationRequest, "preferredAcr"> {
  const claim = claims?.id_token?.["acr"];
  const claimed = claim ? requestedValues(claim) : undefined;
  const asked = claimed ?? parameters.get("acr_values")?.split(" ", valuesAtMost) ?? client.metadata.default_acr_values;
  const preferred = asked?.filter(isSupportedAcr) ?? [];
  return { preferredAcr: preferred.length === 0 ? undefined : preferred };
}
