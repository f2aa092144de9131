import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { decodeClaims } from "@edge-op/protocol/jwt/decode-claims";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { type AuthenticationEvent, readAuthenticationClaims } from "@edge-op/protocol/oauth/login-context";
import { tokenTypes } from "@edge-op/protocol/oauth/registered-names";
import { registeredScope } from "@edge-op/shared/clients/client";
import { allowsScope } from "@edge-op/shared/clients/token-targets";
import { issuerOf } from "@edge-op/shared/issuers/check-token";
import type { TokenId } from "@edge-op/shared/storage/shard-address";
import { readAccessToken } from "@edge-op/shared/tokens/access-token";
import { readIdToken } from "@edge-op/shared/tokens/id-token";
import type { AccessToken } from "@edge-op/shared/tokens/verified-tokens";
import { type AcceptedToken, acceptToken, readForeignMayAct } from "../external/accept-token.ts";
import type { GrantRequest } from "../grant-module.ts";
import { unacceptableToken } from "../issuing/issue-due-token.ts";

/** **A verified subject or actor token of an exchange**: the members that the exchange uses, for any issuer. */
export type ExchangeParty = Pick<
  AccessToken,
  | "sub"
  | "clientId"
  | "orgId"
  | "grantClientId"
  | "viaClientIds"
  | "lineage"
  | "audiences"
  | "scope"
  | "authorizationDetails"
  | "expiresAtSeconds"
  | "act"
  | "mayAct"
  | "cnf"
  | "forUser"
  | keyof AuthenticationEvent
> & {
  /** The id of the token, if this provider issued it. */
  readonly id?: TokenId | undefined;
  /** Set for a token of a trusted issuer: the rule that accepts it also limits the issued token. */
  readonly external?: AcceptedToken;
};

/** A token as presented in the request. */
interface PresentedToken {
  readonly token: string;
  readonly type: string;
  readonly use: "subject_token" | "actor_token";
}

/** The scope that an ID token proves: it does not contain the claims that the user agreed to share. */
const identityScope = ["openid"];

/**
 * **Verifies a subject or actor token of an exchange.** Accepts access tokens (as such or as `jwt`) and ID tokens of this provider, and JWTs and ID
 * tokens of trusted issuers; the named type must be that of the presented token. Revocation is checked afterwards, for both
 * tokens.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8693#section-3
 */
export async function readExchangeParty(
  request: GrantRequest<"audience" | "resource">,
  presented: PresentedToken,
): Promise<ExchangeParty> {
  const { context, isolate } = request;
  const { token, type } = presented;
  if (isExternal(presented, context.settings.issuer)) return readExternalParty(request, presented);
  if (type === tokenTypes.accessToken || type === tokenTypes.jwt) {
    const accessToken = await readAccessToken(context, isolate, token);
    if (accessToken !== undefined) return accessToken;
    if (type === tokenTypes.accessToken) throw unacceptableToken("subject-token-invalid");
  }
  if (type === tokenTypes.idToken || type === tokenTypes.jwt) {
    const idToken = await readIdToken(context, isolate, token);
    if (idToken === undefined) throw unacceptableToken("subject-token-invalid");
    return { ...idToken, scope: identityScope, authorizationDetails: undefined };
  }
  throw new OAuthError("invalid_request", "token-type-unsupported", {
    description: "The subject_token_type or actor_token_type is not supported.",
  });
}

/** Whether a token names another issuer than this provider. A token that names none is read as one of this provider. */
function isExternal({ token, type }: PresentedToken, ownIssuer: string): boolean {
  if (type !== tokenTypes.jwt && type !== tokenTypes.idToken) return false;
  const issuer = issuerOf(decodeClaims(token) ?? {});
  return issuer !== undefined && issuer !== ownIssuer;
}

/**
 * **A token of a trusted issuer as a party of an exchange.** Its grant is new and belongs to the issuer and the rule, so that a cut-off of either
 * revokes the issued tokens. The rule determines scope and targets; `acr` and `auth_time` of another provider are dropped, because this provider
 * cannot vouch for them. Cost warm: 0 calls, 1 verification.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8693#section-3
 */
async function readExternalParty(
  request: GrantRequest<"audience" | "resource">,
  { token, type, use }: PresentedToken,
): Promise<ExchangeParty> {
  const { context, isolate, client, form } = request;
  // The rule of the subject token allows the targets; the actor token only provides a name.
  const isSubject = use === "subject_token";
  const accepted = await acceptToken(
    context,
    isolate,
    { token, idToken: type === tokenTypes.idToken },
    {
      use,
      clientId: client.clientId,
      audiences: isSubject ? [...new Set(form.all("audience"))] : [],
      resources: isSubject ? [...new Set(form.all("resource"))] : [],
    },
    unacceptableToken,
  );
  const { rule, claims, parties, sub, forUser, cnf } = accepted;
  const lifetimeSeconds = rule.access_token_lifetime ?? Number.POSITIVE_INFINITY;
  return {
    sub,
    forUser,
    cnf,
    clientId: parties[0],
    grantClientId: parties[0],
    viaClientIds: [parties[1]],
    lineage: [],
    audiences: [],
    scope: ruleScope(rule.scopes, client),
    expiresAtSeconds: Math.min(Number(claims["exp"]), toSeconds(context.arrivedAtMs) + lifetimeSeconds),
    act: undefined,
    mayAct: readForeignMayAct(claims, context.settings.issuer, unacceptableToken),
    authorizationDetails: undefined,
    ...readAuthenticationClaims({}),
    external: accepted,
  };
}

/** `"*"` is everything that the client is registered for, except admin scopes. */
function ruleScope(scopes: readonly string[], client: GrantRequest["client"]): readonly string[] {
  if (!scopes.includes("*")) return scopes;
  return registeredScope(client).filter((value) => allowsScope(scopes, value));
}
