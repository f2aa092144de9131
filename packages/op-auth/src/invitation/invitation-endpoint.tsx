import { identifyBrowser } from "@edge-op/pages/cookies";
import { formToken, requireFormToken } from "@edge-op/pages/form-token";
import { Layout } from "@edge-op/pages/layout";
import { MessagePage } from "@edge-op/pages/message-pages";
import { Person } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { createTranslator } from "@edge-op/pages/translator";
import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { readForm } from "@edge-op/shared/http/read-form";
import { readInvitationToken } from "@edge-op/shared/users/invitation-token";
import { newFlow, pathOf } from "../flow/sealed-flow.ts";
import { frameOf } from "../pages/frame.ts";
import { HiddenFields } from "../pages/hidden-fields.tsx";
import { findInvitation, type Invitation } from "../sign-up/invitations.ts";
import { isIdentifierTaken } from "../sign-up/is-identifier-taken.ts";
import { signUpMessages } from "../sign-up/messages.ts";
import { longestName, readName } from "../sign-up/read-name.ts";
import type { FlowRequest } from "../steps/step.ts";

/**
 * **`GET /invitation`**: the page of an invitation. It changes nothing, so a program that opens the links of mails does not accept it. Cost: 1 D1 call; 0 for a
 * link that this provider did not make.
 */
export async function showInvitation(at: FlowRequest): Promise<Response> {
  const token = new URL(at.request.url).searchParams.get("token") ?? "";
  const invitation = await openInvitation(at, token);
  return invitation === undefined ? showEnded(at) : showForm(at, token, invitation);
}

/**
 * **`POST /invitation`**: begins the sign-up of the invited person, whose address the link has proven. The invitation is used when the account is created. Cost: 2
 * D1 calls in parallel.
 */
export async function acceptInvitation(at: FlowRequest): Promise<Response> {
  const { context, request } = at;
  const form = readForm(request);
  const token = form.get("token") ?? "";
  const browser = await identifyBrowser(context, request);
  await requireFormToken(context, purposeOf(token), browser.id, form.get("form_token"));
  const invitation = await openInvitation(at, token);
  if (invitation === undefined) return showEnded(at);
  const name = readName(form.get("name"));
  if (name === undefined) return showForm(at, token, invitation, true);
  const { id, address, isByOperator } = invitation;
  const invited = { invitation: id, isInvitedByOperator: isByOperator };
  const newcomer = { name, address, ...invited, sub: `u${randomBase64Url(16)}` };
  const flow = await newFlow(at, { kind: "account", path: "/account" }, { newcomer });
  const isTaken = await isIdentifierTaken(context.env.DB, address.key, context.arrivedAtMs);
  const problem = isTaken ? ({ kind: "refused", method: "taken" } as const) : undefined;
  return redirect(await pathOf(at, { ...flow, problem }, browser, "create-account"), [browser.setCookie]);
}

async function openInvitation({ context }: FlowRequest, token: string): Promise<Invitation | undefined> {
  const { env, settings, arrivedAtMs } = context;
  const id = await readInvitationToken(env, token);
  const invitation = id === undefined ? undefined : await findInvitation(env.DB, id, arrivedAtMs);
  return settings.signUp === "off" && invitation?.isByOperator !== true ? undefined : invitation;
}

function purposeOf(token: string): string {
  return `invitation ${token}`;
}

async function showEnded({ context, request }: FlowRequest): Promise<Response> {
  const frame = frameOf(context, request);
  const t = createTranslator(signUpMessages, frame.t.language);
  const link = { href: "/account", text: t("signIn") };
  const page = <MessagePage frame={frame} title={t("ended")} text={t("endedText")} link={link} sign="ended" />;
  return respondPage(page, { status: 400 });
}

async function showForm(
  { context, request }: FlowRequest,
  token: string,
  { address, name }: Invitation,
  isRefused = false,
): Promise<Response> {
  const frame = frameOf(context, request);
  const t = createTranslator(signUpMessages, frame.t.language);
  const browser = await identifyBrowser(context, request);
  const fields = { token, form_token: await formToken(context, purposeOf(token), browser.id) };
  const invalid = isRefused ? { "aria-invalid": "true" as const, "aria-describedby": "problem" } : {};
  const page = (
    <Layout {...frame} title={t("title")}>
      <div class="head">
        <h1>{t("title")}</h1>
        <p class="muted">{t("invited", { provider: frame.branding.name })}</p>
        <Person name={address.address} text={address.address} />
      </div>
      {isRefused && (
        <p class="note bad" role="alert" id="problem">
          {t("badName")}
        </p>
      )}
      <form method="post" action="/invitation">
        <HiddenFields fields={fields} />
        <label for="name">{t("name")}</label>
        <input
          id="name"
          name="name"
          type="text"
          autocomplete="name"
          required
          maxlength={longestName}
          value={name ?? ""}
          autofocus
          {...invalid}
        />
        <div class="actions">
          <button type="submit" id="accept">
            {t("submit")}
          </button>
        </div>
      </form>
    </Layout>
  );
  return respondPage(page, { status: isRefused ? 400 : 200, cookies: [browser.setCookie] });
}
