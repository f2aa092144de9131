import { type Client, registeredScope } from "@edge-op/shared/clients/client";
import { checkResources, resourceCaller, type TokenTargets, tokenTargets } from "@edge-op/shared/clients/token-targets";
import { limits } from "@edge-op/shared/config/limits";
import { admitsClient, type Resource, scopesOf } from "@edge-op/shared/resources/resource";
import type { ClientRequest } from "../grant-module.ts";
import { defaultTarget } from "./requested-target.ts";
import { findResources, longestLifetimeSeconds, needsProof, requireUsable } from "./resource-rules.ts";

/**
 * **Spends a code or refresh token under the rules of its resources** (ADR 45). Only the object knows what was granted. So it is called
 * with the rules of the resources that the request names or that the client used last; where others were granted, it changes nothing
 * and names them, and is called again. Cost: that of `spend`; once more for a client that this isolate has not seen with its resources.
 */
export interface CheckedUse {
  readonly targets: TokenTargets;
  /** The scope values that the client may have of any of the checked resources. */
  readonly allowedScope: readonly string[];
  /** Of a token for any of the checked resources. */
  readonly longestLifetimeSeconds: number;
}

type Unchecked = { readonly kind: "unchecked_resources"; readonly resources: readonly string[] };

/** The second call names everything that was granted. */
const calls = 3;

export async function spendChecked<Result extends { readonly kind: string }>(
  request: ClientRequest,
  named: readonly string[] | undefined,
  spend: (use: CheckedUse) => Promise<Result | Unchecked>,
): Promise<Exclude<Result, Unchecked>> {
  const { isolate, client, context } = request;
  const known = new Set(named ?? isolate.clientResources.get(client.clientId, context.arrivedAtMs));
  for (let call = 0; call < calls; call += 1) {
    const result = await spend(await checkedUse(request, [...known]));
    if (!isUnchecked(result)) return result as Exclude<Result, Unchecked>;
    const { resources } = result;
    const audiences = resources.length > 0 ? resources : defaultTarget(client, context.settings.issuer).audiences;
    requireUsable(request, await findResources(request, audiences));
    for (const resource of resources) known.add(resource);
    isolate.clientResources.remember(client.clientId, [...known].slice(-limits.audiences), context.arrivedAtMs);
  }
  throw new Error("the object names other resources at each call");
}

/** Resources that need a proof which the request lacks are left out: if one was granted, the object names it. */
async function checkedUse(request: ClientRequest, known: readonly string[]): Promise<CheckedUse> {
  const { client, context, proof } = request;
  const { issuer } = context.settings;
  const [found, byDefault] = await Promise.all([
    findResources(request, known),
    findResources(request, defaultTarget(client, issuer).audiences),
  ]);
  const unproven = proof === undefined ? found.filter((resource) => needsProof([resource])) : [];
  const usable = known.filter((value) => !unproven.some(({ identifier }) => identifier === value));
  const targets = {
    ...tokenTargets(client, issuer),
    checked: checkResources(client, usable, found),
    defaultChecked: proof !== undefined || !needsProof(byDefault),
  };
  return {
    targets,
    allowedScope: allowedScope(client, found),
    longestLifetimeSeconds: longestLifetimeSeconds(request, [...found, ...byDefault]),
  };
}

/** What a client may have in a login: the scope it registered, and the scopes of the resources whose rules admit it. */
export function allowedScope(client: Client, resources: readonly Resource[]): readonly string[] {
  if (resources.length === 0) return registeredScope(client);
  const caller = resourceCaller(client);
  const admitted = resources.filter((resource) => admitsClient(resource, caller));
  return [...new Set([...registeredScope(client), ...scopesOf(admitted)])];
}

function isUnchecked(result: { readonly kind: string }): result is Unchecked {
  return result.kind === "unchecked_resources";
}
