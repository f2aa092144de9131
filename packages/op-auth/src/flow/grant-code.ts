/** **The end of a flow at a client**: the session records the grant, and a code is issued and sent. */

import { authenticationOf } from "@edge-op/protocol/oauth/authentication-context";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { saveOfflineGrant } from "@edge-op/shared/users/offline-grants";
import type { SessionClient } from "@edge-op/shared/users/session-rpc";
import { isAllowed, requestedAllowances } from "../consent/requested-allowances.ts";
import { isOffline, isRefreshable, loginOf, sessionGrant } from "../response/plan-grant.ts";
import { respondToClient } from "../response/respond-to-client.tsx";
import type { Flow } from "../steps/flow.ts";
import { sinceOf } from "../steps/second-factor.ts";
import type { FlowRequest, Policy } from "../steps/step.ts";
import type { CheckedRequest, InSession } from "./in-session.ts";

/**
 * Records the client that a logout must notify and the grant that a withdrawn consent must end. They are written beside the code, which nobody has
 * before all of them are.
 */
export async function recordGrant(
  at: FlowRequest,
  checked: CheckedRequest,
  found: InSession,
  isSaving: boolean,
): Promise<void> {
  const { context, isolate } = at;
  const { client, request } = checked;
  const { known, subject, grant, isRecorded, sessionId } = found;
  const admitted = admittedClient(checked, found, isSaving);
  // If the client's subject type or sector has changed, its logout notice must contain the subject of the new code.
  const isKnown = known?.subject === subject && isAllowed(known.consented, admitted.consented);
  const admit = async () => {
    if (isKnown && isRecorded) return;
    const recorded = sessionGrant(client, request, grant);
    if (await isolate.sessions.admit(context, sessionId, admitted, recorded)) return;
    throw new OAuthError("login_required", "session-ended");
  };
  await Promise.all([admit(), saveIfOffline(at, checked, found)]);
}

/** A consent that is being saved counts in the session only once D1 has it. */
export function admittedClient(
  { client, request }: CheckedRequest,
  { known, subject }: Pick<InSession, "known" | "subject">,
  isSaving: boolean,
): SessionClient {
  const { clientId, createdAtMs: registeredAtMs, metadata } = client;
  const consented = metadata.skip_consent === true || isSaving ? [] : requestedAllowances(request);
  return { clientId, subject, consented: [...new Set([...(known?.consented ?? []), ...consented])], registeredAtMs };
}

export async function saveIfOffline(
  { context }: FlowRequest,
  { client, request }: CheckedRequest,
  { session, grant }: InSession,
) {
  if (!isOffline(request)) return;
  const { grantId, address, family, grantEndsAtMs: untilMs } = grant;
  const { clientId } = client;
  await saveOfflineGrant(context.env.DB, { grantId, address, untilMs, family, sub: session.sub, clientId });
}

export async function issueCode(
  { context, isolate }: FlowRequest,
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
  { context, isolate, request }: FlowRequest,
  { client, request: target }: CheckedRequest,
  code: string,
): Promise<Response> {
  isolate.clients.noteUse(context, client);
  return respondToClient(context, isolate, request, client, target, { code });
}
