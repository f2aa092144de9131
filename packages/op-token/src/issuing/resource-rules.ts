import type { SigningAlgorithm } from "@edge-op/protocol/jwt/signing-algorithms";
import { adminAudience } from "@edge-op/protocol/oauth/admin-scope";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { requireAllowedSignatures, signatureFor } from "@edge-op/shared/clients/security-profile";
import type { Resource } from "@edge-op/shared/resources/resource";
import type { ClientRequest } from "../grant-module.ts";

/**
 * **The requirements of a token's resources** (ADR 45): a lifetime, a signature algorithm, a proven key. Cost warm: 0 calls.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8707#section-2
 */
export function findResources(
  { context, isolate }: ClientRequest,
  audiences: readonly string[],
): readonly Resource[] | Promise<readonly Resource[]> {
  const { issuer } = context.settings;
  // This provider is its own resource and cannot have a rule.
  const others = audiences.filter((audience) => audience !== issuer && audience !== adminAudience(issuer));
  return others.length === 0 ? [] : isolate.resources.findAll(context, others);
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

/** The algorithm that the resources verify, else the client's, else the deployment's. A token has one signature. */
export function signatureAlgorithm(
  { context, client }: ClientRequest,
  resources: readonly Resource[],
): SigningAlgorithm {
  const { settings } = context;
  requireAllowedSignatures(settings, client, resources);
  const required = new Set(resources.flatMap(({ metadata }) => metadata.access_token_signed_response_alg ?? []));
  if (required.size > 1) throw new OAuthError("invalid_target", "resources-algorithms-differ");
  const [algorithm] = required;
  const { access_token_signed_response_alg: registered } = client.metadata;
  return algorithm ?? signatureFor(settings, client, registered, settings.accessTokenAlgorithm);
}
