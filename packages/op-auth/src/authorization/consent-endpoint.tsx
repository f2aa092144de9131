import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { type Form, readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import { readCookie } from "../browser/cookies.ts";
import { findSignedInPerson } from "../browser/find-signed-in-person.ts";
import { formToken, requireFormToken } from "../browser/form-token.ts";
import { saveConsent } from "../consent/consents.ts";
import { keepClient } from "../consent/keep-client.ts";
import type { AuthIsolate } from "../isolate.ts";
import { describeClient } from "../pages/describe-client.ts";
import { describeDetails } from "../pages/describe-details.ts";
import { frameOf } from "../pages/frame.ts";
import { advance, deny, requireClient } from "./advance.ts";
import { clientSource } from "./client-source.ts";
import { ConsentPage } from "./consent-page.tsx";
import { beginInteraction, requireInteraction, spendInteraction } from "./interaction.ts";
import { detailAllowances, requestedAllowances } from "./needs-consent.ts";

interface ConsentRequest {
  readonly context: RequestContext<AuthEnv>;
  readonly isolate: AuthIsolate;
  readonly request: ReceivedRequest;
  readonly id: string;
}

/** The form token is bound to the person, so that nobody can submit a form that was shown to someone else. */
function formPurpose(id: string, sub: string): string {
  return `consent ${id} ${sub}`;
}

/** **The consent page.** Cost: 2 object calls; a logo as in describe-client.ts. */
export async function showConsent({ context, isolate, request, id }: ConsentRequest): Promise<Response> {
  const interaction = await requireInteraction(context, isolate, request, id);
  const person = await findSignedInPerson(context, isolate, request);
  if (interaction.purpose.kind !== "authorize" || person === undefined) {
    return advance(context, isolate, request, interaction, readCookie(context, request, "op-session"));
  }
  const authorization = interaction.purpose.request;
  const resources = await isolate.resources.findAll(context, authorization.resources);
  const frame = frameOf(context, request, authorization.uiLocales);
  const client = await requireClient(context, isolate, authorization);
  const view = {
    action: `/interaction/${id}/consent`,
    formToken: await formToken(context, formPurpose(id, person.user.sub), interaction.browserId),
    client: await describeClient(context, isolate, client),
    source: clientSource(client, authorization.redirectUri),
    user: person.user,
    asked: requestedAllowances(authorization),
    resources,
    details: describeDetails(context.settings, frame.t, authorization.authorizationDetails),
  };
  const page = <ConsentPage frame={frame} view={view} />;
  return respondPage(page, { formTarget: authorization.redirectUri });
}

/**
 * **The decision**: allow, deny, or sign in to another account. A consent is stored for this client and these scopes.
 * Cost: 3 object calls and 1 D1 call, 2 for the first consent to a client that no administrator registered; then as in decide-authorization.ts.
 */
export async function submitConsent({ context, isolate, request, id }: ConsentRequest): Promise<Response> {
  const form: Form = readForm(request);
  const interaction = await requireInteraction(context, isolate, request, id);
  const person = await findSignedInPerson(context, isolate, request);
  if (interaction.purpose.kind !== "authorize" || person === undefined) {
    return advance(context, isolate, request, interaction, readCookie(context, request, "op-session"));
  }
  const { sub } = person.user;
  await requireFormToken(context, formPurpose(id, sub), interaction.browserId, form.get("form_token"));
  const decision = form.get("decision");
  if (decision === "allow") {
    await keepClient(context, await requireClient(context, isolate, interaction.purpose.request), sub);
  }
  await spendInteraction(context, isolate, id);
  if (decision === "other") {
    const steps = { ...interaction.steps, otherAccount: true };
    return redirect(await beginInteraction(context, isolate, { ...interaction, steps }, "sign-in"));
  }
  if (decision !== "allow") return deny(context, isolate, request, interaction);
  const { request: authorization } = interaction.purpose;
  const { clientId } = authorization;
  const allowed = [...requestedAllowances(authorization), ...(await detailAllowances(authorization))];
  const given = { action: "consent.given", target: sub, clientId, actor: sub, detail: { allowed } };
  const event = recordAdminEvent(context, given);
  await saveConsent(context.env.DB, { sub, clientId, allowed, atMs: context.arrivedAtMs }, event);
  wakeAuditLog(context);
  const steps = { ...interaction.steps, consentedBy: sub };
  return advance(context, isolate, request, { ...interaction, steps }, person.sessionId);
}
