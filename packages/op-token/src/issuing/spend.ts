import { limits } from "@edge-op/shared/config/limits";
import type { GrantIdentity } from "@edge-op/shared/grants/grant";
import { grantSubject } from "@edge-op/shared/leases/revocation-subject";
import type { IssueRequest } from "../grant-module.ts";
import { among, type CheckedTargets, checkTargets } from "./checked-targets.ts";
import { refuseRevokedGrant } from "./find-active-user.ts";
import { defaultTarget } from "./requested-target.ts";
import { requireOneFormat, requireUsable } from "./resource-rules.ts";

/** What the object lacks to decide: a request that was checked, or the rules of resources. It has changed nothing. */
type Lacking =
  | { readonly kind: "unchecked_request" }
  | { readonly kind: "unchecked_resources"; readonly resources: readonly string[] };

/** A credential that names its grant and user, so that they can be checked while it is spent. */
interface Checkable {
  readonly grant: Pick<GrantIdentity, "grantId" | "address">;
  readonly sub: string;
  readonly orgId: string | undefined;
  /** The kind of a result that changed something. */
  readonly spent: string;
  takeBack(): Promise<void>;
}

/** The first names resources, the second has the rules of all that were granted, the third a checked request; the fourth is for the next change. */
const mostCalls = 4;

/**
 * **Spends a code or refresh token: its object is called until it lacks nothing** (R6, ADR 45). All calls are the same use, because they have the
 * operation id of the request. The object needs two things:
 *
 * - the request was checked: under a lease first, which costs no call; otherwise at the same time, and the use is taken back unless the check passes;
 * - the rules of the granted resources, which only the object knows: it gets those that the request names or that the client used last.
 *
 * Cost: that of `use`; 1 object call beside it without a lease; `use` once more for a client that this isolate has not seen with its resources, or
 * whose resources require different forms of tokens.
 */
export async function spend<Result extends { readonly kind: string }>(
  request: IssueRequest,
  named: readonly string[] | undefined,
  use: (rules: CheckedTargets, isUnchecked: boolean) => Promise<Result | Lacking>,
  checkable?: Checkable,
): Promise<{ readonly result: Exclude<Result, Lacking>; readonly checked: CheckedTargets }> {
  const { isolate, client, context } = request;
  const known = new Set(named ?? isolate.clientResources.get(client.clientId, context.arrivedAtMs));
  let checked = await checkTargets(request, [...known], { mayDiffer: true });
  let unchecked = checkable;
  if (unchecked !== undefined && isCovered(request, unchecked)) {
    await check(request, unchecked);
    unchecked = undefined;
  }
  for (let call = 0; call < mostCalls; call += 1) {
    const result: Result | Lacking =
      unchecked === undefined
        ? await use(checked, false)
        : await useBesideCheck(request, unchecked, use(checked, true));
    unchecked = undefined;
    if (!isLacking(result)) return { result: result as Exclude<Result, Lacking>, checked };
    if (result.kind === "unchecked_request") continue;
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
  throw new Error("the object lacks something else at each call");
}

function isCovered({ context, isolate, client }: IssueRequest, { grant, sub, orgId }: Checkable): boolean {
  return isolate.revocation.isCovered(context, grantSubject(grant, { sub, clientId: client.clientId, orgId }));
}

async function check(request: IssueRequest, { grant, sub, orgId }: Checkable): Promise<void> {
  await refuseRevokedGrant(request, { grant, sub, orgId });
  await request.validate();
  await request.proof?.spend();
}

async function useBesideCheck<Result extends { readonly kind: string }>(
  request: IssueRequest,
  unchecked: Checkable,
  used: Promise<Result>,
): Promise<Result> {
  const [ahead, checking] = await Promise.allSettled([used, check(request, unchecked)]);
  if (checking.status === "rejected") {
    // A request that is not granted changes nothing: a later retry must not look like theft.
    if (ahead.status === "rejected" || ahead.value.kind === unchecked.spent) await unchecked.takeBack();
    throw checking.reason;
  }
  if (ahead.status === "rejected") throw ahead.reason;
  return ahead.value;
}

function isLacking(result: { readonly kind: string }): result is Lacking {
  return result.kind === "unchecked_request" || result.kind === "unchecked_resources";
}
