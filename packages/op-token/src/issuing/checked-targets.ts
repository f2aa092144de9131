import { type Client, registeredScope } from "@edge-op/shared/clients/client";
import { checkResources, resourceCaller, type TokenTargets, tokenTargets } from "@edge-op/shared/clients/token-targets";
import { limits } from "@edge-op/shared/config/limits";
import { admitsClient, type Resource, scopesOf } from "@edge-op/shared/resources/resource";
import type { ClientRequest } from "../grant-module.ts";
import { defaultTarget } from "./requested-target.ts";
import {
  findResources,
  haveOneFormat,
  longestLifetimeSeconds,
  needsProof,
  requireOneFormat,
  requireUsable,
} from "./resource-rules.ts";

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

/** The object has changed nothing. */
export type Unchecked = { readonly kind: "unchecked_resources"; readonly resources: readonly string[] };

/** The second call names everything that was granted. */
const calls = 3;

/**
 * **Spends a code or refresh token under the rules of its resources** (ADR 45). Only the object knows the granted resources. So it is called with the
 * rules of the resources that the request names or that the client used last. If others were granted, the object changes nothing and returns their
 * names, and is called again. Of the three repetitions around one spending, this is the middle one: outside, `settle` makes the whole decision again,
 * with new reads; inside, {@link spendBesideCheck} uses the credential again after its check, with the same rules. All are the same use, because they
 * have the operation id of the request. Cost: that of `spend`; once more for a client that this isolate has not seen with its resources, or
 * whose resources require different forms of tokens.
 */
export async function spendChecked<Result extends { readonly kind: string }>(
  request: ClientRequest,
  named: readonly string[] | undefined,
  spend: (checked: CheckedTargets) => Promise<Result | Unchecked>,
): Promise<{ readonly result: Exclude<Result, Unchecked>; readonly checked: CheckedTargets }> {
  const { isolate, client, context } = request;
  const known = new Set(named ?? isolate.clientResources.get(client.clientId, context.arrivedAtMs));
  let checked = await checkTargets(request, [...known], { mayDiffer: true });
  for (let call = 0; call < calls; call += 1) {
    const result = await spend(checked);
    if (!isUnchecked(result)) return { result: result as Exclude<Result, Unchecked>, checked };
    const { resources } = result;
    for (const resource of resources) known.add(resource);
    checked = await checkTargets(request, [...known], { mayDiffer: false });
    const { issuer } = context.settings;
    const audiences = resources.length > 0 ? resources : defaultTarget(client, issuer).audiences;
    const found = among(checked.found, audiences);
    requireUsable(request, found);
    requireOneFormat(issuer, audiences, found);
    isolate.clientResources.remember(client.clientId, [...known].slice(-limits.audiences), context.arrivedAtMs);
  }
  throw new Error("the object names other resources at each call");
}

/**
 * Omits resources that require a proof which the request lacks, and at first also all of which no token can be for at once: if they were granted, the
 * object returns their names.
 */
async function checkTargets(
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

function isUnchecked(result: { readonly kind: string }): result is Unchecked {
  return result.kind === "unchecked_resources";
}
