import { findAuthentication } from "@edge-op/protocol/oauth/authentication-context";
import { isAdminScope } from "@edge-op/protocol/oauth/scope";
import type { Client } from "@edge-op/shared/clients/client";
import type { Settings } from "@edge-op/shared/config/settings";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import type { AuthorizationRequest, CodeRequest } from "../authorization/authorization-request.ts";
import { detailAllowances, isClientAssured, requestedAllowances } from "../consent/requested-access.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { readDeployment } from "../runtime/deployment.ts";
import { hasRecoveries } from "../session/address-recovery.ts";
import type { Demand, Purpose } from "../step/flow.ts";
import type { ConsentRule, Policy } from "../step/step.ts";

type PolicyContext = Pick<RequestContext<AuthEnv>, "settings" | "env">;

/** **The policy of an authorization**, of the client, its request and the deployment as they are now. Cost: 0. */
export async function authorizationPolicy(
  context: PolicyContext,
  client: Client,
  request: CodeRequest,
): Promise<Policy> {
  const { prompt, maxAgeSeconds, requiredAcr, preferredAcr, expectedSubject, scope } = request;
  const { organization, choosesOrganization } = request;
  const asked = [...requestedAllowances(request), ...(await detailAllowances(request))];
  const consent = consentRule(context.settings, client, request);
  const factors = factorPolicy(context, client, scope);
  const terms = readDeployment(context.env).terms?.version;
  return {
    prompt,
    maxAgeSeconds,
    requiredAcr,
    preferredAcr,
    expectedSubject,
    consent,
    ...factors,
    asked,
    terms,
    organization,
    choosesOrganization,
  };
}

/**
 * When a sign-in needs two factors: the strictest of the client, the requested scope and the deployment. The admin API accepts no person with one
 * factor, so a person who could do nothing with the token is asked here. A role is known only with the person.
 */
function factorPolicy(
  { env, settings }: PolicyContext,
  client?: Client,
  scope: readonly string[] = [],
): Pick<Policy, "secondFactor" | "mfaRoles" | "confirmsBrowsers" | "recoversByAddress"> {
  const { secondFactor, newBrowser } = readDeployment(env);
  const { mfa, mfaRoles } = secondFactor;
  const recoversByAddress = hasRecoveries({ env, settings });
  const ofDeployment = mfa === "required" ? "unless remembered" : "if set up";
  const confirmsBrowsers = newBrowser === "code" && settings.mailProvider !== "off";
  const isAlways = client?.metadata.require_mfa === true || scope.some(isAdminScope);
  return { secondFactor: isAlways ? "always" : ofDeployment, mfaRoles, confirmsBrowsers, recoversByAddress };
}

type AccountPurpose = Extract<Purpose, { kind: "account" }>;

/**
 * The policy of a sign-in to a page of this provider, for example the one that allows a device of a client. Who does not agree to the terms can still
 * use their account, for example to download their data or to delete it.
 */
export function accountPolicy(
  context: PolicyContext,
  {
    requiredAcr,
    path,
    client,
    scope,
  }: Pick<AccountPurpose, "requiredAcr"> & {
    readonly path?: string | undefined;
    readonly client?: Client | undefined;
    readonly scope?: readonly string[];
  },
): Policy {
  const unlimited = { maxAgeSeconds: undefined, preferredAcr: undefined, expectedSubject: undefined };
  return {
    ...unlimited,
    prompt: [],
    requiredAcr,
    consent: "never",
    ...factorPolicy(context, client, scope),
    asked: [],
    terms: client !== undefined || isOfDevice(path) ? readDeployment(context.env).terms?.version : undefined,
  };
}

/** Whether a page gives a client access. */
function isOfDevice(path = ""): boolean {
  return /^\/device(?:\?|$)/.test(path);
}

/**
 * When a person is asked: an administrator has consented for first-party clients. Authorization details need consent each time, unless their type is
 * defined otherwise. A client that is not assured (requested-access.ts) needs consent each time or, if it is first-party, a sign-in made for this
 * request (RFC 8252 §8.6: an administrator cannot know which program listens on a port).
 */
function consentRule(settings: Settings, client: Client, request: CodeRequest): ConsentRule {
  if (request.prompt.includes("consent")) return "each time";
  const isAssured = isClientAssured(settings, client, request.redirectUri);
  if (client.metadata.skip_consent) return isAssured ? "never" : "unless just signed in";
  if (!isAssured || isAskedEachTime(client) || hasSingleDetails(settings, request)) return "each time";
  return "remembered";
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

/** The `acr` values that a passkey has or satisfies. */
const passkeyAcr: readonly string[] = ["phr", "mfa"];

/**
 * **A policy with a demand of the hook added to it**: it never allows what the policy does not. Pure. A demand travels in the flow; a page from
 * before it leads to the hook again. A passkey cannot be added where the request requires an `acr` that passkeys do not have: see {@link
 * isDemandPossible}.
 */
export function withDemand(policy: Policy, demand: Demand | undefined): Policy {
  if (demand === "mfa") return { ...policy, secondFactor: "always" };
  if (demand === "phr" && isDemandPossible(policy, demand)) return { ...policy, requiredAcr: ["phr"] };
  return policy;
}

export function isDemandPossible({ requiredAcr }: Pick<Policy, "requiredAcr">, demand: Demand): boolean {
  return demand === "mfa" || requiredAcr === undefined || requiredAcr.some((acr) => passkeyAcr.includes(acr));
}

/** Whether proofs that are not older than `sinceMs` are what a demand asks for. */
export function isDemandMet(proofs: readonly Proof[], demand: Demand, sinceMs: number): boolean {
  return findAuthentication(proofs, [demand], sinceMs) !== undefined;
}
