import { encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { coveredClaims } from "@edge-op/protocol/oauth/claims-request";
import type { LoginContext } from "@edge-op/protocol/oauth/login-context";
import { registeredScope } from "@edge-op/shared/clients/client";
import type { RbacClaims } from "@edge-op/shared/users/user";
import { selectClaims, visibleClaims } from "@edge-op/shared/users/visible-claims";
import type { ClientRequest } from "../grant-module.ts";

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
  rbac: RbacClaims,
  scope: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const requested = coveredClaims(claims?.id_token, registeredScope(client));
  const visible = visibleClaims(client.metadata.id_token_claims === "requested" ? [] : scope, requested);
  if (visible.size === 0) return {};
  const user = await isolate.users.find(context, sub);
  return user === undefined ? {} : withoutLargest(selectClaims(user, rbac, visible), requested);
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
