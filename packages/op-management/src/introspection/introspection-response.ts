import type { AuthorizationDetails } from "@edge-op/protocol/oauth/authorization-details";
import { type ConfirmationClaim, formatConfirmation } from "@edge-op/protocol/oauth/confirmation";
import { type PresentationType, presentationType } from "@edge-op/protocol/oauth/registered-names";
import { registeredSpelling } from "@edge-op/protocol/oauth/resource-indicator";
import { formatScope } from "@edge-op/protocol/oauth/scope";
import { type Client, listAllows } from "@edge-op/shared/clients/client";
import { logDecided, type RequestContext } from "@edge-op/shared/http/request-context";
import { formatTokenId } from "@edge-op/shared/storage/shard-address";
import type { AccessToken, ActorClaim } from "@edge-op/shared/tokens/verified-tokens";

type SeenToken = Pick<AccessToken, "clientId" | "audiences">;

/**
 * **The tokens that a client may introspect**: its own, those addressed to its `client_id`, and those that its `introspection` policy names by client
 * or by audience (ADR 49). Any other token is inactive.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7662#section-4
 */
export function maySee(caller: Client, token: SeenToken): boolean {
  if (token.clientId === caller.clientId || token.audiences.includes(caller.clientId)) return true;
  const { clients, audiences } = caller.metadata.introspection ?? {};
  if (clients !== undefined && listAllows(clients, token.clientId)) return true;
  return (
    audiences !== undefined &&
    token.audiences.some((audience) => listAllows(audiences, registeredSpelling(audience, audiences)))
  );
}

/** The response is the same as for an unknown token (RFC 7662 §2.2); an operator finds the reason in the log. */
export function noteInvisible(context: RequestContext<unknown>, caller: Client, token: SeenToken): void {
  logDecided(context, "introspection-not-allowed", {
    clientId: caller.clientId,
    detail: "a live token of another client and audience; the caller's introspection policy names neither",
    tokenClientId: token.clientId,
    tokenAudiences: token.audiences,
    requestId: context.requestId,
  });
}

/** **The response of `/introspect`.** @see https://www.rfc-editor.org/rfc/rfc7662#section-2.2 */
export interface IntrospectionResponse {
  readonly active: boolean;
  readonly scope?: string | undefined;
  readonly client_id?: string;
  /** The organisation for which the user acts. */
  readonly org_id?: string | undefined;
  readonly username?: string | undefined;
  readonly token_type?: PresentationType | "refresh_token";
  readonly exp?: number;
  readonly iat?: number;
  readonly sub?: string;
  readonly aud?: string | readonly string[] | undefined;
  readonly iss?: string;
  readonly jti?: string;
  /** RFC 8693 §4.1, §4.4 */
  readonly act?: ActorClaim | undefined;
  readonly may_act?: Readonly<Record<string, unknown>> | undefined;
  /** RFC 7800 */
  readonly cnf?: ConfirmationClaim | undefined;
  readonly resource?: readonly string[] | undefined;
  /** RFC 9068 §2.2.3.1 */
  readonly roles?: readonly string[] | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly permissions?: readonly string[] | undefined;
  /** RFC 9396 §9.2 */
  readonly authorization_details?: AuthorizationDetails | undefined;
  /** RFC 9470 §6.2 */
  readonly acr?: string | undefined;
  readonly auth_time?: number | undefined;
}

/** The response for every token that is unknown, expired, revoked or not visible to the caller (RFC 7662 §2.2). */
export const inactive: IntrospectionResponse = { active: false };

function unlessEmpty<T>(values: readonly T[] | undefined): readonly T[] | undefined {
  return values === undefined || values.length === 0 ? undefined : values;
}

/** Members that are `undefined` are omitted from the JSON. */
export function describeAccessToken(issuer: string, token: AccessToken): IntrospectionResponse {
  return {
    ...token.mappedClaims,
    active: true,
    scope: token.scope.length === 0 ? undefined : formatScope(token.scope),
    client_id: token.clientId,
    org_id: token.orgId,
    username: token.username,
    token_type: presentationType(token.cnf),
    exp: token.expiresAtSeconds,
    iat: token.issuedAtSeconds,
    // The `sub` of the token itself. With the user's own `sub`, a resource server could link pairwise subjects (OIDC Core §8).
    sub: token.pairwiseSub ?? token.sub,
    aud: token.audiences.length === 1 ? token.audiences[0] : token.audiences,
    iss: issuer,
    jti: formatTokenId(token.id),
    act: token.act,
    may_act: token.mayAct,
    cnf: formatConfirmation(token.cnf),
    resource: unlessEmpty(token.resources),
    roles: unlessEmpty(token.rbac?.roles),
    groups: unlessEmpty(token.rbac?.groups),
    permissions: unlessEmpty(token.rbac?.permissions),
    authorization_details: token.authorizationDetails,
    acr: token.acr,
    auth_time: token.authTimeSeconds,
  };
}
