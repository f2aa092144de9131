import { type Client, registeredScope } from "@edge-op/shared/clients/client";
import { checkResources, resourceCaller, type TokenTargets, tokenTargets } from "@edge-op/shared/clients/token-targets";
import { admitsClient, type Resource, scopesOf } from "@edge-op/shared/resources/resource";
import type { ClientRequest } from "../grant-module.ts";
import { defaultTarget } from "./requested-target.ts";
import { findResources, haveOneFormat, longestLifetimeSeconds, needsProof } from "./resource-rules.ts";

/** The resources that a login may be for, looked up once, and the rights that their rules give the client now. */
export interface CheckedTargets {
  readonly targets: TokenTargets;
  /** Among the named values and the client's default audience. */
  readonly found: readonly Resource[];
  /** The scope values that the client may have of any of the named resources. */
  readonly allowedScope: readonly string[];
  /** The longest lifetime of a token for any of the resources. */
  readonly longestLifetimeSeconds: number;
}

/**
 * **The rules of the resources that a login may be for** (ADR 45), by those that are known. Omits resources that require a proof which the request
 * lacks, and at first (`mayDiffer`) also all of which no token can be for at once: if they were granted, the object returns their names.
 */
export async function checkTargets(
  request: ClientRequest,
  known: readonly string[],
  { mayDiffer }: { readonly mayDiffer: boolean },
): Promise<CheckedTargets> {
  const { client, context, proof } = request;
  const { issuer } = context.settings;
  const { audiences: defaults } = defaultTarget(client, issuer);
  const found = await findResources(request, [...new Set([...known, ...defaults])]);
  const named = among(found, known);
  const unproven = proof === undefined ? named.filter((resource) => needsProof([resource])) : [];
  const isOneTarget = !mayDiffer || haveOneFormat(issuer, known, named);
  const usable = isOneTarget ? known.filter((value) => among(unproven, [value]).length === 0) : [];
  return {
    targets: {
      ...tokenTargets(client, issuer),
      checked: checkResources(client, usable, named),
      defaultChecked: proof !== undefined || !needsProof(among(found, defaults)),
    },
    found,
    allowedScope: allowedScope(client, named),
    longestLifetimeSeconds: longestLifetimeSeconds(request, found),
  };
}

/** The resources that have one of the identifiers. */
export function among(resources: readonly Resource[], identifiers: readonly string[]): readonly Resource[] {
  return resources.filter(({ identifier }) => identifiers.includes(identifier));
}

/** The scope that a client may have in a login: its registered scope, and the scopes of the resources whose rules admit it. */
export function allowedScope(client: Client, resources: readonly Resource[]): readonly string[] {
  if (resources.length === 0) return registeredScope(client);
  const caller = resourceCaller(client);
  const admitted = resources.filter((resource) => admitsClient(resource, caller));
  return [...new Set([...registeredScope(client), ...scopesOf(admitted)])];
}
