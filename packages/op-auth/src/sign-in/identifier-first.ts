import { readDeployment } from "../runtime/deployment.ts";
import { type Flow, newcomerOf } from "../step/flow.ts";
import type { Asked, Detour } from "../step/sign-in-method.ts";
import type { StepRequest, StepResult } from "../step/step.ts";
import { leaveByDomain } from "../upstream/discovery.ts";

/**
 * **A sign-in that begins with the name alone** (`SIGN_IN_PAGE=identifier`): the domain of an address leads to the provider that lists it, any other
 * name to the page for the password. Nobody is looked up for it, so that the page, the calls and the time are the same for every name. The domain
 * decides once: whoever comes back from the provider finds the page for the password. Cost: that of leaving; else 0.
 */
export async function continueByName(at: StepRequest, typed: string): Promise<StepResult> {
  if (typed === "") return { kind: "go to", step: "sign-in", typed, marks: { named: false } };
  return (await leaveByName(at, typed)) ?? { kind: "go to", step: "sign-in", typed, marks: { named: true } };
}

/** The same for a name that the client's request has given, on the way to the page. `undefined`: the page is shown. */
export async function leaveByHint(at: StepRequest, name: SignInName): Promise<Detour | undefined> {
  const isGiven = name.asked === "password" && at.flow.typed === undefined && at.flow.problem === undefined;
  return isGiven && name.username !== undefined ? leaveByName(at, name.username) : undefined;
}

async function leaveByName(at: StepRequest, typed: string): Promise<Detour | undefined> {
  const marks = { ...at.flow.marks, named: true };
  const detour = await leaveByDomain({ ...at, flow: { ...at.flow, marks } }, { typed, isOffered: true });
  return detour?.kind === "again" ? { ...detour, typed, marks: { named: true } } : detour;
}

export interface SignInName {
  readonly username: string | undefined;
  readonly asked: Asked | undefined;
}

/**
 * **The name that the page shows, and what it asks for.** A name that was typed on the page for it is settled; so is one that the client, a proven
 * address or a provider has given, until its person changes it or chooses another account. A half typed one is kept, and not settled.
 */
export function nameOf({ context, flow, authorization }: StepRequest): SignInName {
  const given = newcomerOf(flow)?.address.address ?? flow.marks.link?.address ?? authorization?.request.loginHint;
  const username = flow.typed ?? given;
  if (readDeployment(context.env).signInPage !== "identifier") return { username, asked: undefined };
  return { username, asked: isSettled(flow, given) ? "password" : "name" };
}

function isSettled({ typed, marks: { named, otherAccount } }: Flow, given: string | undefined): boolean {
  if (named === false) return false;
  if (named && typed !== undefined) return true;
  return given !== undefined && !otherAccount && (typed ?? given) === given;
}
