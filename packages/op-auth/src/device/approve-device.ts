import { authenticationOf } from "@edge-op/protocol/oauth/authentication-context";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import type { WaitingDevice } from "@edge-op/shared/codes/device-code-rpc";
import { settle } from "@edge-op/shared/control/settle";
import type { AuthorizedGrant } from "@edge-op/shared/grants/grant";
import { rowUntilMs } from "@edge-op/shared/grants/grant-revocation";
import { sessionVersion } from "@edge-op/shared/sessions/sessions";
import { saveConsent } from "@edge-op/shared/users/consents";
import { insertOfflineGrant } from "@edge-op/shared/users/offline-grants";
import { isRefreshable, loginOf, planGrant } from "../authorization/plan-grant.ts";
import { detailAllowances, requestedAllowances } from "../consent/requested-access.ts";
import type { PageRequest } from "../pages/frame.ts";
import { basisOf, type SignedInPerson } from "../session/signed-in-person.ts";
import { writeAs } from "../session/write-as.ts";
import { readDeviceAuthorization } from "./waiting-device.ts";

/**
 * **Allows a device**: stores the grant with its device code. The grant is listed at `/account` and ends there, when the password changes, or by a
 * cut-off; it does not end with this browser's session, because the device is separate (ADR 7). Returns false if the code was decided meanwhile.
 * Cost: 1 object call, 1 D1 call.
 */
export async function approveDevice(
  { context, isolate }: PageRequest,
  person: SignedInPerson,
  device: WaitingDevice,
  code: string,
): Promise<boolean> {
  const authorization = readDeviceAuthorization(device);
  const { scope, resources, claims, dpopThumbprint } = authorization;
  const { clientId } = device;
  const { session, sessionId } = person;
  const { sub } = person.user;
  return settle(context, isolate, async (decision) => {
    const client = await isolate.clients.find(context, clientId);
    if (client?.status !== "active") return false;
    const described = await isolate.resources.findAll(context, resources);
    const signInVersion = sessionVersion(sessionId);
    const redeemableUntilMs = device.expiresAtMs;
    const plan = { client, signInVersion, resources: described, redeemableUntilMs };
    const planned = await planGrant(context, isolate, plan);
    const { family, tokenLifetimeSeconds, grantEndsAtMs, ...grant } = planned;
    const refreshable = isRefreshable(client, { scope });
    const { requiredAcr, preferredAcr, maxAgeSeconds } = authorization;
    const oldestMs = maxAgeSeconds === undefined ? 0 : context.arrivedAtMs - maxAgeSeconds * 1000;
    const sinceMs = Math.min(oldestMs, authorization.requestedAtMs);
    const authentication = authenticationOf(session.proofs, { wanted: requiredAcr ?? preferredAcr, sinceMs });
    const payload: AuthorizedGrant = {
      ...loginOf(session, authentication, (await pairwiseSubject(context.env, client, sub)) ?? sub, authorization),
      // The device belongs to no browser session.
      sid: undefined,
      cnf: dpopThumbprint === undefined ? undefined : { method: "jkt", thumbprint: dpopThumbprint },
      clientId,
      grant,
      scope,
      resources,
      refreshable,
      tokenLifetimeSeconds,
      familyAddress: family.address,
      grantEndsAtMs,
    };
    await decision.commit();
    const { grantId, address } = grant;
    const { tokensEndAtMs } = family;
    // Stored before the device can redeem the code, so that the person can end every grant that the device receives.
    const end = refreshable ? { untilMs: grantEndsAtMs, family } : { untilMs: rowUntilMs(tokensEndAtMs) };
    const asked = requestedAllowances({ scope, claims, resources });
    const listed = insertOfflineGrant(context.env.DB, { grantId, address, ...end, sub, clientId, asked });
    const allowed = [...asked, ...(await detailAllowances(authorization))];
    const given = {
      action: "consent.given",
      target: sub,
      clientId,
      actor: sub,
      detail: { allowed, device: true },
    };
    const consent = { sub, clientId, allowed, atMs: context.arrivedAtMs };
    const { DB } = context.env;
    const statements = [saveConsent(DB, consent), listed, recordAdminEvent(context, given)];
    await writeAs(context, basisOf(person), statements);
    wakeAuditLog(context);
    return isolate.deviceCodes.decide(context, code, { kind: "approve", payload, tokensEndAtMs });
  });
}
