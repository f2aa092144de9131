import { encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { type ClaimRequests, coveredClaims } from "@edge-op/protocol/oauth/claims";
import type { LoginContext } from "@edge-op/protocol/oauth/login-context";
import { type Client, registeredScope } from "@edge-op/shared/clients/client";
import { coveredMappings, mappedClaims } from "@edge-op/shared/users/attributes";
import { selectClaims, visibleClaims } from "@edge-op/shared/users/user";
import type { ClientRequest } from "../grant-module.ts";
import type { ActiveUser } from "./find-active-user.ts";

/** Applications keep ID tokens in cookies and send them back as hints, which may be 16 KiB long here. */
const mostScopeClaimBytes = 4096;

/**
 * **The claims of the user in an ID token**: those that were requested individually for it (OIDC Core §5.5) and, unless the client registered
 * `id_token_claims: requested`, those of the token's scope (ADR 18). Of the latter, the largest are left out where they make more than 4 KiB;
 * UserInfo has them all. Cost warm: 0 calls.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ScopeClaims
 */
export async function idTokenClaims(
  { context, isolate, client }: ClientRequest,
  { sub, claims }: LoginContext,
  { rbac, attributes }: ActiveUser,
  scope: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const requested = coveredClaims(claims?.id_token, registeredScope(client));
  const releasing = client.metadata.id_token_claims === "requested" ? [] : scope;
  const requestedMapped = requestedMappings(claims?.id_token, client, { attributes });
  const { clientId } = client;
  const mapped = mappedClaims(attributes, "id_token", { clientId, scope: releasing, requested: requestedMapped });
  const visible = visibleClaims(releasing, requested);
  const user = visible.size === 0 ? undefined : await isolate.users.find(context, sub);
  const ofProfile = user === undefined ? {} : selectClaims(user, rbac, visible);
  return withoutLargest({ ...mapped, ...ofProfile }, [...requested, ...requestedMapped]);
}

/** The claims among the requested ones that attributes of the user are mapped to, and that the client's registered scope covers. */
export function requestedMappings(
  requests: ClaimRequests | undefined,
  client: Client,
  { attributes }: Pick<ActiveUser, "attributes">,
): readonly string[] {
  if (requests === undefined || attributes.length === 0) return [];
  const { clientId } = client;
  return coveredMappings(Object.keys(requests), attributes, { clientId, registeredScope: registeredScope(client) });
}

function withoutLargest(
  claims: Readonly<Record<string, unknown>>,
  requested: readonly string[],
): Readonly<Record<string, unknown>> {
  const sized = Object.entries(claims)
    .filter(([name]) => !requested.includes(name))
    .map(([name, value]) => ({ name, bytes: encodeUtf8(JSON.stringify({ [name]: value })).length }));
  const omitted = new Set<string>();
  let bytes = sized.reduce((sum, each) => sum + each.bytes, 0);
  for (const each of sized.toSorted((one, other) => other.bytes - one.bytes)) {
    if (bytes <= mostScopeClaimBytes) break;
    bytes -= each.bytes;
    omitted.add(each.name);
  }
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !omitted.has(name)));
}
