import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import { verifiedAddress } from "@edge-op/shared/users/user-addresses";
import type { PageRequest } from "../pages/frame.ts";
import type { Flow } from "../step/flow.ts";
import type { Detour } from "../step/sign-in-method.ts";
import type { StepRequest } from "../step/step.ts";
import { leaveFor } from "./begin-upstream.ts";
import { domainOf } from "./kinds.ts";

/**
 * **The provider to which the people of an address's domain belong**: it depends on the domain alone, so it reveals nothing about an account. A
 * domain is compared exactly: `corp.example.evil` and subdomains are other domains. Cost warm: 0.
 */
export async function discoverUpstream(
  { context, isolate }: PageRequest,
  address: string | undefined,
): Promise<Upstream | undefined> {
  const domain = address === undefined ? undefined : domainOf(address);
  if (domain === undefined) return undefined;
  const active = await isolate.upstreams.list(context);
  return active.find(({ document }) => document.discovery !== "off" && document.domains.includes(domain));
}

/**
 * Sends a person to the provider of the address that they typed: if it requires that, or if `isOffered`. Not a person who has come from there to
 * connect their account. `undefined`: they stay.
 */
export async function leaveByDomain(
  at: StepRequest,
  { typed, isOffered = false }: { readonly typed: string; readonly isOffered?: boolean },
): Promise<Detour | undefined> {
  const upstream = await discoverUpstream(at, typed);
  if (upstream === undefined || at.flow.marks.link?.upstreamId === upstream.upstreamId) return undefined;
  return isOffered || upstream.document.discovery === "require" ? leaveFor(at, upstream, typed) : undefined;
}

/**
 * The id of the provider that a person must sign in with, by the domain of their main address. Cost warm: 0. Where no provider requires anything,
 * nothing is read.
 */
export async function findRequiredUpstream(at: PageRequest, sub: string): Promise<string | undefined> {
  const { context, isolate } = at;
  const active = await isolate.upstreams.list(context);
  if (active.every(({ document }) => document.discovery !== "require")) return undefined;
  const user = await isolate.users.find(context, sub);
  const upstream = await discoverUpstream(at, user && verifiedAddress(user.claims)?.address);
  return upstream?.document.discovery === "require" ? upstream.upstreamId : undefined;
}

/** The address of the person who has proven something in a flow. */
export async function provenAddress({ context, isolate }: PageRequest, { proofs }: Flow): Promise<string | undefined> {
  const [proof] = proofs;
  const user = proof && (await isolate.users.find(context, proof.sub));
  return user && verifiedAddress(user.claims)?.address;
}

/** Whether a form of a sign-in may lead to another site: to the client, or to an upstream provider. */
export async function formLeaves({ context, isolate, authorization }: StepRequest): Promise<boolean> {
  return authorization !== undefined || (await isolate.upstreams.list(context)).length > 0;
}
