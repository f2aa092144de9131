import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { canonicalJson } from "@edge-op/protocol/oauth/authorization-details";
import { protocolClaims } from "@edge-op/protocol/oauth/claims-request";
import { claimsCoveredBy } from "@edge-op/protocol/oauth/scope-claims";
import type { Client } from "@edge-op/shared/clients/client";
import type { Settings } from "@edge-op/shared/config/settings";
import { findConsent } from "../consent/consents.ts";
import { isProviderScope, resourceAllowances } from "../pages/allowances.ts";
import type { AuthorizationRequest } from "./checks/authorization-request.ts";
import type { InteractionCheckInput, Need } from "./interaction-check.ts";
import { isClientAssured } from "./is-client-assured.ts";

/**
 * **Whether the person must consent**: the client requests more than they have allowed, or `prompt=consent`. An administrator has consented for
 * first-party clients. Authorization details need consent each time, unless their type is defined otherwise. A client that is not assured
 * (is-client-assured.ts) needs consent each time or, if it is first-party, a sign-in made for this request. Cost: 0 while the session contains the
 * consent, else 1 D1 call.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#Consent
 */
export async function needsConsent(input: InteractionCheckInput): Promise<Need | undefined> {
  const { context, client, request, redirectUri, steps, signedIn } = input;
  const consent: Need = { kind: "consent", error: "consent_required" };
  if (signedIn === undefined) return undefined;
  if (steps.consentedBy === signedIn.user.sub) return undefined;
  if (request.prompt.includes("consent")) return consent;
  const isAssured = isClientAssured(context.settings, client, redirectUri);
  // RFC 8252 §8.6: not "automatically without user consent or interaction"; an administrator cannot know which program listens on a port.
  const hasJustSignedIn = steps.signedInAtMs === signedIn.use.session.signedInAtMs;
  if (client.metadata.skip_consent) return isAssured || hasJustSignedIn ? undefined : consent;
  if (!isAssured || isAskedEachTime(client) || hasSingleDetails(context.settings, request)) return consent;
  const asked = [...requestedAllowances(request), ...(await detailAllowances(request))];
  if (isAllowed(signedIn.use.client?.consented ?? [], asked)) return undefined;
  const remembered = await findConsent(context.env.DB, signedIn.user.sub, client.clientId);
  return isAllowed(remembered?.allowed ?? [], asked) ? undefined : consent;
}

/** Hosts of metadata documents for which the deployment has no policy. People decide each time and see the host. */
function isAskedEachTime({ origin, documentPolicy }: Client): boolean {
  return origin === "document" && documentPolicy !== "allow";
}

/** RFC 9396 §12: an object such as a payment is authorized once, unless its type is defined with remembered consent. */
function hasSingleDetails(
  { authorizationTypes }: Settings,
  { authorizationDetails = [] }: Pick<AuthorizationRequest, "authorizationDetails">,
): boolean {
  return authorizationDetails.some(({ type }) => authorizationTypes[type]?.remember !== true);
}

export function isAllowed(allowed: readonly string[], asked: readonly string[]): boolean {
  return asked.every((item) => allowed.includes(item));
}

/**
 * The access that a request needs consent for: single claims that no scope covers, every requested resource, and scope values. A scope value is
 * consented to for each requested resource, with or without a rule, because its meaning differs between resources; the provider's own scopes are
 * consented to once.
 */
export function requestedAllowances({
  scope,
  claims,
  resources,
}: Pick<AuthorizationRequest, "scope" | "claims" | "resources">): string[] {
  const names = new Set([...Object.keys(claims?.userinfo ?? {}), ...Object.keys(claims?.id_token ?? {})]);
  const covered = claimsCoveredBy(scope);
  const single = [...names].filter((name) => !protocolClaims.includes(name) && !covered.includes(name));
  const atResources = scope.filter((value) => !isProviderScope(value));
  return [
    ...(resources.length === 0 ? scope : scope.filter(isProviderScope)),
    ...single.map((name) => `claim:${name}`),
    ...resources.flatMap((resource) => resourceAllowances(resource, atResources)),
  ];
}

/**
 * The authorization details that a request needs consent for: the hash and the type of each, so that a stored consent covers this object and no other
 * (RFC 9396 §12). The session does not contain them, because there can be many and each is used once.
 */
export async function detailAllowances({
  authorizationDetails,
}: Pick<AuthorizationRequest, "authorizationDetails">): Promise<string[]> {
  const all = (authorizationDetails ?? []).map(async (detail) => {
    return `detail:${encodeBase64Url(await sha256(canonicalJson(detail)))} ${detail.type}`;
  });
  return [...new Set(await Promise.all(all))];
}
