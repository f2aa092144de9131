import { displayName } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import { readCookie } from "../browser/cookies.ts";
import { findSignedInPerson } from "../browser/find-signed-in-person.ts";
import { formToken, requireFormToken } from "../browser/form-token.ts";
import type { AuthIsolate } from "../isolate.ts";
import { describeClient } from "../pages/describe-client.ts";
import { frameOf } from "../pages/frame.ts";
import { advance, requireClient } from "./advance.ts";
import { beginInteraction, requireInteraction, spendInteraction } from "./interaction.ts";
import { SelectAccountPage } from "./select-account-page.tsx";

interface SelectAccountRequest {
  readonly context: RequestContext<AuthEnv>;
  readonly isolate: AuthIsolate;
  readonly request: ReceivedRequest;
  readonly id: string;
}

/** **The account selection page.** Cost: 2 object calls; a logo as in describe-client.ts. */
export async function showSelectAccount({ context, isolate, request, id }: SelectAccountRequest): Promise<Response> {
  const interaction = await requireInteraction(context, isolate, request, id);
  const person = await findSignedInPerson(context, isolate, request);
  if (interaction.purpose.kind !== "authorize" || person === undefined) {
    return advance(context, isolate, request, interaction, readCookie(context, request, "op-session"));
  }
  const authorization = interaction.purpose.request;
  const view = {
    action: `/interaction/${id}/select-account`,
    formToken: await formToken(context, `select-account ${id}`, interaction.browserId),
    client: await describeClient(context, isolate, await requireClient(context, isolate, authorization)),
    user: displayName(person.user),
  };
  const page = <SelectAccountPage frame={frameOf(context, request, authorization.uiLocales)} view={view} />;
  return respondPage(page, { formTarget: authorization.redirectUri });
}

/** **The selection**: continue with the signed-in account, or sign in to another. */
export async function submitSelectAccount({ context, isolate, request, id }: SelectAccountRequest): Promise<Response> {
  const form = readForm(request);
  const interaction = await requireInteraction(context, isolate, request, id);
  await requireFormToken(context, `select-account ${id}`, interaction.browserId, form.get("form_token"));
  await spendInteraction(context, isolate, id);
  if (form.get("account") === "other") {
    const steps = { ...interaction.steps, otherAccount: true };
    return redirect(await beginInteraction(context, isolate, { ...interaction, steps }, "sign-in"));
  }
  const steps = { ...interaction.steps, accountSelected: true };
  return advance(context, isolate, request, { ...interaction, steps }, readCookie(context, request, "op-session"));
}
