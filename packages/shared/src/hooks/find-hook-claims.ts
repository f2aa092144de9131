import type { ClaimsRequest, HookClient, HookUser } from "@edge-op/hooks";
import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { isText, listOf } from "@edge-op/protocol/encoding/stored-json";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { isReservedClaim } from "@edge-op/protocol/oauth/reserved-claims";
import { isScopeValue } from "@edge-op/protocol/oauth/scope";
import type { Client } from "../clients/client.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { AttributeClaim, MappedValue } from "../users/attributes.ts";
import { claimNamePattern, claimTokens, mayReleaseClaims } from "../users/claim-rules.ts";
import type { RbacClaims, User } from "../users/user.ts";
import { callHook, type HooksBindings, isHookEnabled, plainValue, UnusableResult } from "./call-hook.ts";

/** **A person as a hook sees them**: copies without what only this provider needs. */
export function hookUserOf({ sub, username, claims, attributes = {} }: User, { roles, groups }: RbacClaims): HookUser {
  return { sub, username, claims, attributes, roles, groups };
}

export function hookClientOf({ clientId, metadata }: Client): HookClient {
  const { client_name: name } = metadata;
  return { client_id: clientId, ...(name === undefined ? {} : { client_name: name }) };
}

const limits = { size: 4_096, depth: 6 } as const;
const mostClaims = 50;
const mostResources = 20;

interface ClaimsAbout {
  readonly endpoint: ClaimsRequest["endpoint"];
  readonly user: User;
  /** Read only if the hook is enabled. */
  rbac(): Promise<RbacClaims> | RbacClaims;
  readonly client: Client;
}

/**
 * **The claims about a user that the hook `claims` returns**, as if an administrator had mapped attributes to them: the same rules decide which token
 * contains one, by the scope that was allowed and by its audiences, and no claim of the provider can be set. To be asked before anything is spent,
 * and placed before mapped attributes, whose values are the ones that count. Cost: 0 unless it is enabled; then 1 RPC.
 */
export async function findHookClaims(
  context: RequestContext<HooksBindings>,
  { endpoint, user, rbac, client }: ClaimsAbout,
): Promise<readonly MappedValue[]> {
  if (!isHookEnabled(context, "claims")) return [];
  const request = { endpoint, user: hookUserOf(user, await rbac()), client: hookClientOf(client) };
  const result = await callHook(context, "claims", request, readHookClaims);
  if (result.kind === "answered") return result.value;
  if (context.settings.enabledHooks.claims === "open") return [];
  throw new UnavailableError("hook claims", result.cause);
}

/** The claims of a result. One that is not allowed makes the whole result unusable: part of an answer is not the operator's answer. */
export function readHookClaims(result: unknown): readonly MappedValue[] {
  const plain = plainValue(result, limits);
  if (!Array.isArray(plain)) throw new UnusableResult("the result is not a list of claims");
  if (plain.length > mostClaims) throw new UnusableResult(`the result has more than ${mostClaims} claims`);
  return plain.map(readClaim);
}

function readClaim(given: unknown): MappedValue {
  if (!isJsonObject(given)) throw new UnusableResult("a claim is not an object");
  const { name, value, scope = "openid", tokens = claimTokens, resources, ...others } = given;
  if (typeof name !== "string" || !claimNamePattern.test(name)) throw new UnusableResult("a claim has no valid name");
  if (isReservedClaim(name)) throw new UnusableResult(`${name} is a claim of the provider`);
  if (value === undefined) throw new UnusableResult(`${name} has no value`);
  if (typeof scope !== "string" || !isScopeValue(scope) || !mayReleaseClaims(scope)) {
    throw new UnusableResult(`the scope of ${name} releases no claims`);
  }
  if (!areTokens(tokens)) throw new UnusableResult(`tokens of ${name} must be a list of ${claimTokens.join(", ")}`);
  if (resources !== undefined && !areResources(resources)) {
    throw new UnusableResult(`resources of ${name} must be a list of at most ${mostResources} texts`);
  }
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new UnusableResult(`${name} has the unknown member ${unknown}`);
  return { claim: { name, scope, tokens, ...(resources === undefined ? {} : { resources }) }, value };
}

const areTokens = listOf((value): value is AttributeClaim["tokens"][number] =>
  claimTokens.some((token) => token === value),
);
const areTexts = listOf(isText<string>);

function areResources(value: unknown): value is readonly string[] {
  return areTexts(value) && value.length <= mostResources;
}
