/** **Where a flow stands after a step**, and the ways on from there. */

import type { Browser } from "@edge-op/pages/cookies";
import { redirect } from "@edge-op/pages/respond-page";
import type { Client } from "@edge-op/shared/clients/client";
import type { PreparedSession, SignIn } from "@edge-op/shared/sessions/sessions";
import type { PageRequest } from "../pages/frame.ts";
import { type OpenedSession, type OpenOptions, openSession } from "../session/open-session.ts";
import type { SignedInPerson } from "../session/signed-in-person.ts";
import type { Flow } from "../step/flow.ts";
import { flowMs, newFlow, pathOf, pathToProof } from "../step/sealed-flow.ts";
import type { Facts, Policy, Step, StepResult } from "../step/step.ts";
import { demandMore } from "./judge-sign-in.ts";
import type { NextStep } from "./steps.ts";

/** The additions of the submitted step to the flow. */
type Added = Pick<
  Extract<StepResult, { kind: "done" }>,
  "proofs" | "allowed" | "factors" | "terms" | "isActive" | "cookies" | "write"
>;

/** A flow after a step, or at its beginning. */
export interface FlowPosition {
  readonly flow: Flow;
  readonly browser: Browser;
  /** The signed-in person, if they were read for the step: with pending proofs, the one whose session they may replace. */
  readonly person?: SignedInPerson | undefined;
  /** Who is signed in in any case: pending proofs of someone else leave them signed in. */
  readonly holder?: SignedInPerson | undefined;
  readonly added?: Added;
}

/** Proofs that have opened no session yet, and the one that they would open. */
export interface SigningIn {
  readonly signIn: SignIn;
  readonly prepared: PreparedSession;
}

/** The step that comes before a session is opened; `undefined` if nothing is left, or a page for who is signed in. */
export function stepBefore(next: NextStep): Step | undefined {
  return next.kind === "page" && !next.step.isForPerson ? next.step : undefined;
}

/**
 * **Asks the hook, if proofs are complete or about to let their person change something.** Returns the position with what it demands. A flow that
 * begins anew has none of the proofs, and nothing that was read with them.
 */
export async function demandAt(
  at: PageRequest,
  position: FlowPosition,
  before: Step | undefined,
  asking: { readonly policy: Policy; readonly prepared: PreparedSession; readonly client: Client | undefined },
): Promise<FlowPosition | undefined> {
  if (before !== undefined && !before.writes) return undefined;
  const { policy, client, prepared } = asking;
  const { session } = prepared;
  const { added, ...others } = position;
  const isComplete = before === undefined;
  const flow = await demandMore(at, { flow: position.flow, policy, session, client, isComplete });
  if (flow === undefined) return undefined;
  if (flow.fid === position.flow.fid) return { ...position, flow };
  await added?.write?.();
  const person = others.person?.user.sub === session.sub ? others.person : undefined;
  return { ...others, person, flow };
}

/** A proof that asks for another proof opens nothing yet. */
export async function askForProof(at: PageRequest, position: FlowPosition, step: Step, sub: string): Promise<Response> {
  await position.added?.write?.();
  return redirect(await pathToProof(at, position, step, sub));
}

/** How the proofs of a flow open a session. */
export function openingBy(
  { flow, browser, person, holder = person }: FlowPosition,
  { isNewBrowser, terms }: Pick<Facts, "isNewBrowser" | "terms">,
): OpenOptions {
  const { fid, startedAtMs } = flow;
  const signingIn = { browser, startedAtMs, isNewBrowser, terms };
  return { flow: { fid, untilMs: startedAtMs + flowMs }, signingIn, holder };
}

/** **Opens the session of complete proofs**; its person goes on at the page of a step, or at a path. */
export async function openAndGoTo(
  at: PageRequest,
  { flow, browser, added }: FlowPosition,
  { signIn, prepared }: SigningIn,
  opening: OpenOptions,
  goal: Step | string,
): Promise<Response> {
  const [opened] = await Promise.all([openSession(at, signIn, prepared, opening), added?.write?.()]);
  if (opened.kind !== "opened") return signInAgain(at, flow, browser, opened);
  const path = typeof goal === "string" ? goal : await pathOf(at, { ...flow, isOpened: true }, browser, goal.name);
  return redirect(path, opened.cookies);
}

/** A flow whose session was not opened: spent, it is shown as such; cut off by a change of the user, it begins again and says why. */
export async function signInAgain(
  at: PageRequest,
  flow: Flow,
  browser: Browser,
  { kind }: Exclude<OpenedSession, { kind: "opened" }>,
): Promise<Response> {
  const again: Flow =
    kind === "spent"
      ? { ...flow, proofs: [], problem: { kind: "spent" } }
      : { ...(await newFlow(at, flow.purpose, flow.marks)), problem: { kind: "changed" }, typed: flow.typed };
  return redirect(await pathOf(at, again, browser, "sign-in"));
}
