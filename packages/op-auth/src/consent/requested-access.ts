import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { parseJsonObject } from "@edge-op/protocol/encoding/json-object";
import { type AuthorizationDetail, canonicalJson } from "@edge-op/protocol/oauth/authorization-details";
import { claimsCoveredBy, protocolClaims } from "@edge-op/protocol/oauth/claims";
import { type Client, isPublicClient } from "@edge-op/shared/clients/client";
import type { Settings } from "@edge-op/shared/config/settings";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { MappedAttribute } from "@edge-op/shared/users/attributes";
import type { User } from "@edge-op/shared/users/user";
import type { AuthorizationRequest } from "../authorization/authorization-request.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import { isProviderScope, resourceAllowances } from "./allowances.ts";

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
  organization,
}: Pick<AuthorizationRequest, "scope" | "claims" | "resources"> &
  Partial<Pick<AuthorizationRequest, "organization">>): string[] {
  const names = new Set([...Object.keys(claims?.userinfo ?? {}), ...Object.keys(claims?.id_token ?? {})]);
  const covered = claimsCoveredBy(scope);
  const single = [...names].filter((name) => !protocolClaims.includes(name) && !covered.includes(name));
  const atResources = scope.filter((value) => !isProviderScope(value));
  const asked = [
    ...(resources.length === 0 ? scope : scope.filter(isProviderScope)),
    ...single.map((name) => `claim:${name}`),
    ...resources.flatMap((resource) => resourceAllowances(resource, atResources)),
  ];
  return withinOrganization(asked, organization);
}

const organizationPrefix = "organization:";

/** Access for an organisation is other access: a consent for one covers neither another one nor the deployment (ADR 72). */
function withinOrganization(items: readonly string[], organization: string | undefined): string[] {
  return organization === undefined ? [...items] : items.map((item) => `${organizationPrefix}${organization} ${item}`);
}

/** The same access, without the organisations in which it is allowed. */
export function accessOf(items: readonly string[]): string[] {
  const of = (item: string) => (item.startsWith(organizationPrefix) ? item.slice(item.indexOf(" ") + 1) : item);
  return [...new Set(items.map(of))];
}

/** A longer object is stored as its hash, so that the row of a consent does not grow without a bound. */
const longestDetail = 600;

/**
 * The authorization details that a request needs consent for: each as it is, or the hash and the type of a long one, so that a stored consent covers
 * this object and no other (RFC 9396 §12), and can be shown to the person later. The session does not contain them, because there can be many and
 * each is used once.
 */
export async function detailAllowances({
  authorizationDetails,
  organization,
}: Pick<AuthorizationRequest, "authorizationDetails"> & Partial<Pick<AuthorizationRequest, "organization">>): Promise<
  string[]
> {
  const all = (authorizationDetails ?? []).map(async (detail) => {
    const text = canonicalJson(detail);
    return text.length <= longestDetail
      ? `detail:${text}`
      : `detail:${encodeBase64Url(await sha256(text))} ${detail.type}`;
  });
  return withinOrganization([...new Set(await Promise.all(all))], organization);
}

/** The authorization details of a consent; of those that are stored as a hash, only the type. */
export function allowedDetails(allowed: readonly string[]): AuthorizationDetail[] {
  return accessOf(allowed).flatMap((item): AuthorizationDetail[] => {
    if (!item.startsWith("detail:")) return [];
    const text = item.slice("detail:".length);
    const detail = parseJsonObject(text) ?? { type: text.slice(text.indexOf(" ") + 1) };
    return [{ ...detail, type: String(detail["type"]) }];
  });
}

/**
 * **The attributes that may be released to a client**, in whose words its requested access is shown. Cost warm: 0. They are not read for a person
 * without attributes, unless a value is requested that has no words here.
 */
export async function releasedAttributes(
  { context, isolate }: { readonly context: RequestContext<AuthEnv>; readonly isolate: AuthIsolate },
  clientId: string,
  asked: readonly string[],
  { attributes }: Pick<User, "attributes">,
): Promise<readonly MappedAttribute[]> {
  const isDescribed = (item: string) => isProviderScope(item) || item.startsWith("resource:");
  if (attributes === undefined && asked.every(isDescribed)) return [];
  const mapping = await isolate.users.findMapping(context);
  return mapping.attributes.filter(({ claim }) => claim.clients?.includes(clientId) !== false);
}

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
