import type { SigningAlgorithm } from "@edge-op/protocol/jwt/signing-algorithms";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { AccessTokenType } from "@edge-op/protocol/oauth/registered-names";
import { registeredSpelling } from "@edge-op/protocol/oauth/resource-indicator";
import { administrativeAudiences } from "@edge-op/protocol/oauth/scope";
import { requireAllowedSignatures, signatureFor } from "@edge-op/shared/clients/security-profile";
import type { Resource } from "@edge-op/shared/resources/resource";
import type { TokenFormat } from "@edge-op/shared/tokens/access-token";
import type { ClientRequest } from "../grant-module.ts";

/**
 * **The requirements of a token's resources** (ADR 45): a lifetime, a signature algorithm, a type, a proven key. Cost warm: 0 calls.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8707#section-2
 */
export function findResources(
  { context, isolate }: ClientRequest,
  audiences: readonly string[],
): readonly Resource[] | Promise<readonly Resource[]> {
  // This provider is its own resource and cannot have a rule.
  const own = ownAudiences(context.settings.issuer);
  const others = audiences.filter((audience) => !own.includes(audience));
  return others.length === 0 ? [] : isolate.resources.findAll(context, others);
}

function ownAudiences(issuer: string): readonly string[] {
  return [issuer, ...administrativeAudiences(issuer)];
}

/** The values as they are registered, and the resources among them; `audiences` are registered too. */
export async function findNamed(
  { context, isolate }: Pick<ClientRequest, "context" | "isolate">,
  values: readonly string[],
  audiences: readonly string[],
): Promise<{ readonly named: readonly string[]; readonly found: readonly Resource[] }> {
  const own = ownAudiences(context.settings.issuer);
  const spelled = [...new Set(values.map((value) => registeredSpelling(value, own)))];
  const others = spelled.filter((value) => !own.includes(value));
  if (others.length === 0) return { named: spelled, found: [] };
  const { named, found } = await isolate.resources.findNamed(context, others, audiences);
  return { named: [...new Set([...spelled.filter((value) => own.includes(value)), ...named])], found };
}

/** Whether a token for these resources must be bound to a key. */
export function needsProof(resources: readonly Resource[]): boolean {
  return resources.some(({ metadata }) => metadata.bound_tokens_required === true);
}

/** Refuses a request that cannot have a token for the resources, because its profile excludes their signature algorithm or it lacks a proof. */
export function requireUsable({ context, client, proof }: ClientRequest, resources: readonly Resource[]): void {
  requireAllowedSignatures(context.settings, client, resources);
  if (proof !== undefined || !needsProof(resources)) return;
  throw new OAuthError("invalid_dpop_proof", "resource-needs-bound-tokens", {
    description: "The resource accepts only bound tokens: a DPoP proof or a client certificate is required.",
  });
}

/** The shortest lifetime, in seconds, that the resources and the client set; the deployment's if none is set. */
export function lifetimeSeconds({ context, client }: ClientRequest, resources: readonly Resource[]): number {
  const set = [
    client.metadata.access_token_lifetime,
    ...resources.map(({ metadata }) => metadata.access_token_lifetime),
  ].filter((seconds) => seconds !== undefined);
  return set.length === 0 ? context.settings.accessTokenLifetimeSeconds : Math.min(...set);
}

/** The longest lifetime of a token for any of these resources, or for none: the time for which a revocation of its grant must be kept (ADR 16). */
export function longestLifetimeSeconds(request: ClientRequest, resources: readonly Resource[]): number {
  const own = resources.map(({ metadata }) => metadata.access_token_lifetime ?? 0);
  return Math.max(lifetimeSeconds(request, []), ...own);
}

/** The algorithm that the resources verify, else the client's, else the deployment's; and the type that they expect. */
export function tokenFormat(
  { context, client }: ClientRequest,
  audiences: readonly string[],
  resources: readonly Resource[],
): TokenFormat {
  const { settings } = context;
  const { access_token_signed_response_alg: registered } = client.metadata;
  const usual = () => signatureFor(settings, client, registered, settings.accessTokenAlgorithm);
  if (resources.length === 0) return { alg: usual(), typ: "at+jwt" };
  requireAllowedSignatures(settings, client, resources);
  const [required, typ] = requireOneFormat(settings.issuer, audiences, resources);
  return { alg: required ?? usual(), typ };
}

/**
 * The one algorithm and type of a token for these audiences, of which `resources` have rules; `invalid_target` if they require several. An audience
 * without a rule expects `at+jwt`, as RFC 9068 says: so a token of the type of ID tokens is for described resources alone, never for a client.
 * This provider accepts both types.
 */
export function requireOneFormat(
  issuer: string,
  audiences: readonly string[],
  resources: readonly Resource[],
): readonly [alg: SigningAlgorithm | undefined, typ: AccessTokenType] {
  const { algs, typs } = requiredFormats(issuer, audiences, resources);
  if (algs.length > 1) throw differing("resources-algorithms-differ", "signature algorithms", algs);
  if (typs.length > 1) throw differing("resources-types-differ", "types", typs);
  return [algs[0], typs[0] ?? "at+jwt"];
}

/** Whether {@link requireOneFormat} finds one. */
export function haveOneFormat(issuer: string, audiences: readonly string[], resources: readonly Resource[]): boolean {
  return Object.values(requiredFormats(issuer, audiences, resources)).every(({ length }) => length <= 1);
}

function requiredFormats(issuer: string, audiences: readonly string[], resources: readonly Resource[]) {
  const rules = audiences
    .filter((audience) => audience !== issuer)
    .map((audience) => resources.find(({ identifier }) => identifier === audience)?.metadata);
  return {
    algs: [...new Set(rules.flatMap((rule) => rule?.access_token_signed_response_alg ?? []))],
    typs: [...new Set(rules.map((rule) => rule?.access_token_typ ?? "at+jwt"))],
  };
}

function differing(
  reason: "resources-algorithms-differ" | "resources-types-differ",
  what: string,
  values: readonly string[],
): OAuthError {
  return new OAuthError("invalid_target", reason, {
    description: `The audiences require different ${what} of their access tokens (${values.join(", ")}): request a token for each.`,
  });
}
