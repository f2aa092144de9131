import { readLocales } from "@edge-op/pages/languages";
import { isAcrSatisfied, supportedAcrValues, upstreamMethods } from "@edge-op/protocol/oauth/authentication-context";
import type { Proof, Session } from "@edge-op/shared/sessions/session-rpc";
import { findConsent } from "@edge-op/shared/users/consents";
import { type Factors, findFactors } from "@edge-op/shared/users/factors";
import type { User } from "@edge-op/shared/users/user";
import { type AuthPageFrame, frameOf, type PageRequest } from "../pages/frame.ts";
import { basisOf } from "../session/signed-in-person.ts";
import { type Basis, oldestVersion } from "../session/write-as.ts";
import { type Purpose, pendingProofs } from "./flow.ts";
import { isPreferenceOpen } from "./second-factor.ts";
import type { ReachingFactors, StepRequest } from "./step.ts";

/** **The frame of a step's page**, in the language that the request of the flow asks for. */
export function stepFrame({ context, request, authorization, flow }: StepRequest): Promise<AuthPageFrame> {
  return frameOf(context, request, authorization?.request.uiLocales ?? localesOf(flow.purpose));
}

/** The `ui_locales` of what a person is doing: of the client's request, or of the page that they sign in to. */
export function localesOf(purpose: Purpose): readonly string[] {
  if (purpose.kind === "account") return readLocales(new URLSearchParams(purpose.path.split("?")[1]).get("ui_locales"));
  const [, [locales] = []] = purpose.parameters.find(([name]) => name === "ui_locales") ?? [];
  return readLocales(locales);
}

/**
 * **The person whom a further proof is asked of**: who has proven something in this flow, else who is signed in. Cost: 0; 1 object call for the
 * latter.
 */
export async function findSubject(at: StepRequest): Promise<User | undefined> {
  const { context, isolate, flow } = at;
  const [proof] = pendingProofs(flow);
  if (proof === undefined) return (await at.person())?.user;
  const user = await isolate.users.find(context, proof.sub);
  return user?.status === "suspended" ? undefined : user;
}

/** **What a write about that person rests on**: their proofs in this flow, else the session. Cost: that of {@link findSubject}. */
export async function findBasis(at: StepRequest): Promise<Basis | undefined> {
  const pending = pendingProofs(at.flow);
  const [proof] = pending;
  if (proof !== undefined) return { sub: proof.sub, version: oldestVersion(pending) };
  const person = await at.person();
  return person && basisOf(person);
}

/** The factors on which a preferred `acr` depends: `undefined` if the proofs have it, or none is preferred. Cost: 1 D1 call if it is open. */
export async function findFactorsToPrefer(
  at: PageRequest,
  policy: Parameters<typeof isPreferenceOpen>[0],
  { sub, proofs }: Pick<Session, "sub" | "proofs">,
): Promise<ReachingFactors | undefined> {
  if (!isPreferenceOpen(policy, proofs)) return undefined;
  return withProviderAcr(at, await findFactors(at.context.env.DB, sub), proofs);
}

/**
 * **Factors with what the person's providers may reach**: the `acr` values to which their records map those of the provider (`acr_map`). A provider
 * that has signed the person in already has said what it reaches, and is not asked again. Cost warm: 0.
 */
export async function withProviderAcr(
  { context, isolate }: PageRequest,
  factors: Factors | undefined,
  proofs: readonly Proof[],
): Promise<ReachingFactors | undefined> {
  if (factors === undefined || factors.providers.length === 0) return factors;
  const isOpen = (id: string) =>
    factors.providers.includes(id) &&
    !proofs.some(({ method, credential }) => upstreamMethods.includes(method) && credential === id);
  const open = (await isolate.upstreams.list(context)).filter(({ upstreamId }) => isOpen(upstreamId));
  const mapped = open.flatMap(({ document }) => Object.values(document.acr_map));
  return {
    ...factors,
    providerAcr: supportedAcrValues.filter((acr) => mapped.some((has) => isAcrSatisfied(has, acr))),
  };
}

/** The access that the person has allowed the client, read in parallel with a proof, so that the decision after it needs no call. Cost: 1 D1 call. */
export async function findAllowed({ context, authorization }: StepRequest, sub: string): Promise<readonly string[]> {
  if (authorization === undefined) return [];
  return (await findConsent(context.env.DB, sub, authorization.client.clientId))?.allowed ?? [];
}
