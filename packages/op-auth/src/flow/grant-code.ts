/** **The end of a flow at a client**: the session records the grant, and a code is issued and sent. */

import { authenticationOf } from "@edge-op/protocol/oauth/authentication-context";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { SessionAdmission } from "@edge-op/shared/sessions/session-rpc";
import type { ReliedConsent } from "@edge-op/shared/users/consents";
import { forgetInBackground, type NewOfflineGrant, saveOfflineGrant } from "@edge-op/shared/users/offline-grants";
import { isOffline, isRefreshable, loginOf, sessionGrant } from "../authorization/plan-grant.ts";
import { respondToClient } from "../authorization/respond-to-client.tsx";
import { isAllowed, requestedAllowances } from "../consent/requested-access.ts";
import type { PageRequest } from "../pages/frame.ts";
import type { Flow } from "../step/flow.ts";
import { sinceOf } from "../step/second-factor.ts";
import type { Policy } from "../step/step.ts";
import type { CheckedRequest, InSession } from "./in-session.ts";

/**
 * Records the client that a logout must notify and the grant that a withdrawn consent must end, and runs `write`, which stores the consent. They are
 * written in parallel with the code, which nobody has before all of them are.
 *
 * An offline grant is listed before the session admits its client, also one that is known there: whatever ended the session or the access meanwhile
 * either finds the grant in the list, or has made the session refuse it (endings.ts).
 */
export async function recordGrant(
  at: PageRequest,
  checked: CheckedRequest,
  found: InSession,
  write: (() => Promise<unknown>) | undefined,
): Promise<void> {
  const { context, isolate } = at;
  const { known, subject, isRecorded, sessionId } = found;
  const admitted = admission(checked, found, write !== undefined);
  const offline = offlineGrant(checked, found);
  const admit = async () => {
    if (!(await isolate.sessions.admit(context, sessionId, admitted))) throw ended();
  };
  if (offline === undefined) {
    // If the client's subject type or sector has changed, its logout notice must contain the subject of the new code.
    const isKnown = known?.subject === subject && isAllowed(known.consented, admitted.client.consented);
    await Promise.all([isKnown && isRecorded ? undefined : admit(), write?.()]);
    return;
  }
  await write?.();
  if (!(await saveOfflineGrant(context.env.DB, offline))) throw ended();
  try {
    await admit();
  } catch (error) {
    forgetInBackground(context, offline.sub, offline);
    throw error;
  }
}

function ended(): OAuthError {
  return new OAuthError("login_required", "session-ended");
}

/** A consent that is being saved counts in the session only once D1 has it. */
export function admission(checked: CheckedRequest, found: InSession, isSaving: boolean): SessionAdmission {
  const { client, request } = checked;
  const { known, subject, dismissal } = found;
  const { clientId, createdAtMs: registeredAtMs } = client;
  const consented = new Set([...(known?.consented ?? []), ...(isSaving ? [] : reliedConsent(checked, found).asked)]);
  return {
    client: { clientId, subject, consented: [...consented], registeredAtMs },
    grant: sessionGrant(client, request, found.grant),
    dismissal,
  };
}

/** Authorization details are not compared: a withdrawal empties the whole consent. */
export function reliedConsent(
  { client: { clientId, metadata }, request }: CheckedRequest,
  { session: { sub } }: Pick<InSession, "session">,
): ReliedConsent {
  return { sub, clientId, asked: metadata.skip_consent === true ? [] : requestedAllowances(request) };
}

/** Every offline grant is listed, so that its person can end it. */
export function offlineGrant(checked: CheckedRequest, found: InSession): NewOfflineGrant | undefined {
  if (!isOffline(checked.request)) return undefined;
  const { grantId, address, family, grantEndsAtMs: untilMs } = found.grant;
  return { grantId, address, untilMs, family, ...reliedConsent(checked, found) };
}

export async function issueCode(
  { context, isolate }: PageRequest,
  { client, request }: CheckedRequest,
  policy: Policy,
  flow: Flow,
  { session, subject, grant: planned }: InSession,
): Promise<string> {
  const { family, tokenLifetimeSeconds, grantEndsAtMs, ...grant } = planned;
  // A demand of a hook raises the policy; the client is told what it asked for.
  const wanted = request.requiredAcr ?? request.preferredAcr;
  const sinceMs = sinceOf(policy, flow, session.sub, context.arrivedAtMs);
  return isolate.codes.issue(context, {
    ...loginOf(session, authenticationOf(session.proofs, { wanted, sinceMs }), subject, request),
    grant,
    clientId: client.clientId,
    redirectUri: request.redirectUri,
    codeChallenge: request.codeChallenge,
    cnf: request.dpopThumbprint === undefined ? undefined : { method: "jkt", thumbprint: request.dpopThumbprint },
    scope: request.scope,
    resources: request.resources,
    nonce: request.nonce,
    refreshable: isRefreshable(client, request),
    familyAddress: family.address,
    grantEndsAtMs,
    tokenLifetimeSeconds,
  });
}

export function sendCode(
  { context, isolate, request }: PageRequest,
  { client, request: target }: CheckedRequest,
  code: string,
): Promise<Response> {
  isolate.clients.noteUse(context, client);
  return respondToClient(context, isolate, request, client, target, { code });
}
