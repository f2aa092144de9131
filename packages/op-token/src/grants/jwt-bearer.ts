import { decodeClaims } from "@edge-op/protocol/jwt/decode-claims";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { parseScope } from "@edge-op/protocol/oauth/scope";
import { assertionTypes, refuseAssertionClaims } from "@edge-op/shared/callers/client-assertion";
import { type Client, type JwtBearerPolicy, listAllows, registeredScope } from "@edge-op/shared/clients/client";
import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import { requestedDetails, requestedScope } from "@edge-op/shared/clients/requested-access";
import { allowedAlgorithms } from "@edge-op/shared/clients/security-profile";
import { allowsScope } from "@edge-op/shared/clients/token-targets";
import { defineGrantModule, type GrantRequest } from "../grant-module.ts";
import { findActiveUser } from "../issuing/find-active-user.ts";
import { type DueToken, issueDueToken } from "../issuing/issue-due-token.ts";
import { requestedTarget, withUserinfo } from "../issuing/requested-target.ts";
import { lifetimeSeconds } from "../issuing/resource-rules.ts";
import { decideExternalAssertion } from "./jwt-bearer-external.ts";

const parameters = ["assertion", "scope", "audience", "resource", "authorization_details"] as const;

type AssertionRequest = GrantRequest<(typeof parameters)[number]>;

/**
 * **Issues tokens for an assertion**. The client itself asserts a user, signed with its registered key and within its `jwt_bearer` policy (absent: it
 * may assert nobody); or a trusted issuer does (jwt-bearer-external.ts). `iss` distinguishes them. The assertion is spent. Cost warm: 1 object call
 * (the `jti`), 1 verification, 1 signature.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7523#section-2.1
 */
export const jwtBearer = defineGrantModule({
  type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
  parameters,
  credentials: [],
  decide: (request: AssertionRequest) =>
    isOwnAssertion(request) ? decideOwnAssertion(request) : decideExternalAssertion(request),
  issue: issueDueToken,
});

/** An assertion that cannot be read is refused by the rules for the client's own assertions. */
function isOwnAssertion({ client, form, accepted }: AssertionRequest): boolean {
  if (accepted !== undefined) return false;
  const claims = decodeClaims(form.require("assertion"));
  return claims === undefined || claims["iss"] === client.clientId;
}

async function decideOwnAssertion(request: AssertionRequest): Promise<DueToken> {
  const { context, client, form } = request;
  const policy = client.metadata.jwt_bearer;
  if (policy === undefined) throw new OAuthError("unauthorized_client", "jwt-bearer-policy-missing");

  const claims = await verifyAssertion(request);
  const sub = claims["sub"];
  if (typeof sub !== "string" || !listAllows(policy.subjects, sub)) {
    throw new OAuthError("invalid_grant", "assertion-sub");
  }
  const scope = allowedScope(form.get("scope"), client, policy);
  const authorizationDetails = await requestedDetails(context.settings, client, form.get("authorization_details"));
  const { target: requested, described, isDefault } = await requestedTarget(request);
  const target = isDefault ? withUserinfo(requested, scope, context.settings.issuer) : requested;
  const [user, pairwiseSub] = await Promise.all([
    findActiveUser(request, sub, undefined),
    pairwiseSubject(context.env, client, sub),
  ]);
  return {
    content: {
      ...target,
      sub,
      pairwiseSub,
      scope,
      authorizationDetails,
      forUser: true,
      rbac: user.rbac,
      username: user.username,
      attributes: user.attributes,
      mayAct: readMayAct(claims["may_act"]),
    },
    described,
    lifetime: { lifetimeSeconds: lifetimeSeconds(request, described) },
    assertion: { clientId: client.clientId, claims },
  };
}

async function verifyAssertion({ context, isolate, client, form }: AssertionRequest) {
  const assertion = form.require("assertion");
  const verified = await isolate.clientKeys.verify(context, client, assertion, {
    algorithms: allowedAlgorithms(context.settings, client, undefined),
    typ: assertionTypes,
  });
  if (verified === undefined) {
    const unverified = isolate.clientKeys.explain(context, client, "assertion-signature");
    throw new OAuthError("invalid_grant", unverified.reason, unverified);
  }
  const refusal = refuseAssertionClaims(verified.claims, context.settings, "/token", context.arrivedAtMs);
  if (refusal !== undefined) throw new OAuthError("invalid_grant", refusal.reason, refusal);
  return verified.claims;
}

/** The scope that both the client and its policy allow: all of it unless the request names values. */
function allowedScope(requested: string | undefined, client: Client, policy: JwtBearerPolicy): string[] {
  const allowed = registeredScope(client).filter((value) => allowsScope(policy.scopes, value));
  return requestedScope(client, parseScope(requested) ?? allowed, allowed, "scope-not-allowed");
}

/** The members of `may_act` that can name a party. */
const partyMembers = ["sub", "client_id", "iss"];

/** The party that the assertion lets act for the user (RFC 8693 §4.4); a malformed one is refused, not ignored. */
function readMayAct(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new OAuthError("invalid_grant", "may-act-malformed");
  }
  for (const [name, member] of Object.entries(value)) {
    // Signed into a token, it would name a party that can never match.
    if (!partyMembers.includes(name) || typeof member !== "string") {
      throw new OAuthError("invalid_grant", "may-act-malformed");
    }
  }
  return value as Readonly<Record<string, unknown>>;
}
