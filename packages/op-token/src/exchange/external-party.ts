import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { decodeClaims } from "@edge-op/protocol/jwt/decode-claims";
import { readAuthenticationClaims } from "@edge-op/protocol/oauth/login-context";
import { tokenTypes } from "@edge-op/protocol/oauth/token-types";
import { registeredScope } from "@edge-op/shared/clients/client";
import { allowsScope } from "@edge-op/shared/clients/token-targets";
import { issuerOf } from "@edge-op/shared/issuers/check-token";
import { acceptToken, readForeignMayAct } from "../external/accept-token.ts";
import type { GrantRequest } from "../grant-module.ts";
import { unacceptableToken } from "../issuing/unacceptable-token.ts";
import type { ExchangeParty, PresentedToken } from "./exchange-party.ts";

/** Whether a token names another issuer than this provider. A token that names none is read as one of this provider. */
export function isExternal({ token, type }: PresentedToken, ownIssuer: string): boolean {
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
export async function readExternalParty(
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
