import type { Browser } from "@edge-op/pages/cookies";
import type { Client } from "@edge-op/shared/clients/client";
import { noteMembership } from "@edge-op/shared/grants/grant";
import type { Session } from "@edge-op/shared/sessions/session-rpc";
import { findConsent } from "@edge-op/shared/users/consents";
import { type Factors, findFactors } from "@edge-op/shared/users/factors";
import { verifiedAddress } from "@edge-op/shared/users/user-addresses";
import { isAllowed } from "../consent/requested-access.ts";
import { isRememberedDevice } from "../factors/remembered-device.ts";
import type { PageRequest } from "../pages/frame.ts";
import { agreedTerms } from "../session/agreed-terms.ts";
import { isNewBrowser } from "../session/known-browser.ts";
import type { Flow } from "../step/flow.ts";
import { findOfferedRecovery } from "../step/recovery-by-address.ts";
import { dependsOnFactors } from "../step/second-factor.ts";
import type { Facts, Policy, StepResult } from "../step/step.ts";
import { withProviderAcr } from "../step/step-request.ts";
import { findRequiredUpstream } from "../upstream/discovery.ts";
import type { InSession } from "./in-session.ts";

/** The facts when nobody is signed in. */
export const nobody: Facts = { person: undefined, factors: undefined, isRemembered: false, allowed: [] };

interface Known {
  readonly flow: Pick<Flow, "proofs" | "isOpened" | "purpose">;
  readonly browser: Browser;
  readonly added?: Pick<Extract<StepResult, { kind: "done" }>, "factors" | "terms" | "isActive"> | undefined;
}

/**
 * **What is known of a person whose session, or whose proofs, a flow is decided by.** Cost: 0; 1 D1 call if the decision depends on second factors
 * that were not read with the credential; 1 where recovery by mail alone is offered; the user, if they are not in memory.
 */
export async function readPersonFacts(
  at: PageRequest,
  { flow, browser, added }: Known,
  policy: Policy,
  { sub, proofs }: Pick<Session, "sub" | "proofs">,
  subject: string,
): Promise<Omit<Facts, "allowed">> {
  const { context, isolate, request } = at;
  const requiredUpstream = flow.proofs.length === 0 ? undefined : await findRequiredUpstream(at, sub);
  const { roles } = policy.mfaRoles.length === 0 ? { roles: [] } : await isolate.users.findRbacClaims(context, sub);
  const isLeaving = added?.isActive !== true && (await isolate.users.find(context, sub))?.status === "leaving";
  const person = { sub, subject, proofs, roles, isLeaving };
  const membership = await readMembership(at, policy, sub);
  const place = policy.confirmsBrowsers ? await readBrowser(at, browser, sub) : {};
  const strict: Policy = membership.isStrictMember === true ? { ...policy, secondFactor: "always" } : policy;
  if (!dependsOnFactors(flow, person, strict, context.arrivedAtMs)) {
    const terms = await agreedTerms(at, browser, policy.terms, {
      sub,
      read: added?.terms ?? versionOf(added?.factors),
    });
    return { person, factors: undefined, isRemembered: false, ...place, ...membership, requiredUpstream, terms };
  }
  const factors = await withProviderAcr(at, added?.factors ?? (await findFactors(context.env.DB, sub)), proofs);
  const isRemembered =
    factors !== undefined && (await isRememberedDevice(context, request, browser, { sub, epoch: factors.epoch }));
  const recovery = await findOfferedRecovery(at, flow, strict, factors);
  const terms = added?.terms?.version ?? factors?.terms;
  return { person, factors, isRemembered, ...place, ...membership, requiredUpstream, recovery, terms };
}

/** Read in the decision, which is made again if a change names the membership or its organisation before it stands. */
async function readMembership(
  { context, isolate }: PageRequest,
  { organization, choosesOrganization }: Policy,
  sub: string,
): Promise<Pick<Facts, "isMember" | "isStrictMember" | "organizations">> {
  if (organization === undefined) {
    return choosesOrganization ? { organizations: await isolate.users.findOrganizations(context, sub) } : {};
  }
  const membership = await isolate.users.findMembership(context, organization, sub);
  return { isMember: membership?.status === "active", isStrictMember: membership?.requiresMfa === true };
}

function versionOf(factors: Factors | undefined) {
  return factors && { version: factors.terms };
}

async function readBrowser(
  at: PageRequest,
  browser: Browser,
  sub: string,
): Promise<Pick<Facts, "isNewBrowser" | "isMailable">> {
  if (!(await isNewBrowser(at, browser, sub))) return { isNewBrowser: false };
  const user = await at.isolate.users.find(at.context, sub);
  return { isNewBrowser: true, isMailable: user !== undefined && verifiedAddress(user.claims) !== undefined };
}

/**
 * **The facts that an authorization is decided by**: those of the person, and what they have allowed the client. Cost: 1 D1 call more for the latter.
 */
export async function readFacts(
  at: PageRequest,
  position: Known,
  policy: Policy,
  { clientId }: Client,
  found: Pick<InSession, "session" | "subject" | "known" | "grant"> | undefined,
  allowed: readonly string[] | undefined,
): Promise<Facts> {
  if (found === undefined) return nobody;
  const { session, subject, grant } = found;
  noteMembership(at.context, grant, { orgId: policy.organization, sub: session.sub });
  const { consent, asked } = policy;
  const inSession = found.known?.consented ?? [];
  const readAllowed = async () => {
    if (consent !== "remembered") return [];
    if (isAllowed(inSession, asked)) return inSession;
    return allowed ?? (await findConsent(at.context.env.DB, session.sub, clientId))?.allowed ?? [];
  };
  const [known, given] = await Promise.all([readPersonFacts(at, position, policy, session, subject), readAllowed()]);
  return { ...known, allowed: given };
}
