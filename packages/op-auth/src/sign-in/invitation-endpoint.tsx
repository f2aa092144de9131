import { identifyBrowser } from "@edge-op/pages/cookies";
import { formToken, requireFormToken } from "@edge-op/pages/form-token";
import { Layout } from "@edge-op/pages/layout";
import { MessagePage } from "@edge-op/pages/message-pages";
import { Person } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { readForm } from "@edge-op/shared/http/read-form";
import { readInvitationToken } from "@edge-op/shared/mail/sealed-links";
import { HiddenFields } from "../pages/form-parts.tsx";
import { frameOf, type PageRequest } from "../pages/frame.ts";
import { newFlow, pathOf } from "../step/sealed-flow.ts";
import { findInvitation, type Invitation, joinByInvitation } from "./insert-person.ts";
import { isIdentifierTaken, NameField, readName } from "./sign-up-rule.tsx";

/**
 * **`GET /invitation`**: the page of an invitation. It changes nothing, so a program that opens the links of mails does not accept it. Cost: 1 D1
 * call; 0 for a link that this provider did not make.
 */
export async function showInvitation(at: PageRequest): Promise<Response> {
  const token = new URL(at.request.url).searchParams.get("token") ?? "";
  const invitation = await openInvitation(at, token);
  return invitation === undefined ? showEnded(at) : showForm(at, token, invitation);
}

/**
 * **`POST /invitation`**: begins the sign-up of the invited person, whose address the link has proven. The invitation is used when the account is
 * created. Who has an account with this address joins the organisation of the invitation at once. Cost: 1 D1 call, then 1; into an organisation 3.
 */
export async function acceptInvitation(at: PageRequest): Promise<Response> {
  const { context, request } = at;
  const form = readForm(request);
  const token = form.get("token") ?? "";
  const browser = await identifyBrowser(context, request);
  await requireFormToken(context, purposeOf(token), browser.id, form.get("form_token"));
  const invitation = await openInvitation(at, token);
  if (invitation === undefined) return showEnded(at);
  const { organization } = invitation;
  if (organization !== undefined && (await joinByInvitation(context, invitation, organization.orgId))) {
    return showJoined(at, invitation.address.address, organization.name);
  }
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

async function openInvitation({ context }: PageRequest, token: string): Promise<Invitation | undefined> {
  const { env, settings, arrivedAtMs } = context;
  const id = await readInvitationToken(env, token);
  const invitation = id === undefined ? undefined : await findInvitation(env.DB, id, arrivedAtMs);
  return settings.signUp === "off" && invitation?.isByOperator !== true ? undefined : invitation;
}

function purposeOf(token: string): string {
  return `invitation ${token}`;
}

async function showEnded({ context, request }: PageRequest): Promise<Response> {
  const frame = await frameOf(context, request);
  const { t } = frame;
  const link = { href: "/account", text: t("signUp.signIn") };
  const page = (
    <MessagePage frame={frame} title={t("signUp.ended")} text={t("signUp.endedText")} link={link} sign="ended" />
  );
  return respondPage(page, { status: 400 });
}

async function showJoined({ context, request }: PageRequest, address: string, organization: string): Promise<Response> {
  const frame = await frameOf(context, request);
  const { t } = frame;
  const link = { href: "/account", text: t("signUp.signIn") };
  const view = { title: t("invitation.joined", { organization }), text: t("invitation.joinedText", { address }), link };
  return respondPage(<MessagePage frame={frame} {...view} />);
}

async function showForm(
  { context, request }: PageRequest,
  token: string,
  { address, name, organization: { name: organization } = { orgId: "", name: "" } }: Invitation,
  isRefused = false,
): Promise<Response> {
  const frame = await frameOf(context, request);
  const { t } = frame;
  const browser = await identifyBrowser(context, request);
  const provider = frame.branding.name;
  const title = organization === "" ? t("signUp.title") : t("invitation.title", { organization });
  const text =
    organization === "" ? t("signUp.invited", { provider }) : t("invitation.text", { organization, provider });
  const fields = { token, form_token: await formToken(context, purposeOf(token), browser.id) };
  const page = (
    <Layout {...frame} title={title}>
      <div class="head">
        <h1>{title}</h1>
        <p class="muted">{text}</p>
        <Person name={address.address} text={address.address} />
      </div>
      {isRefused && (
        <p class="note bad" role="alert" id="problem">
          {t("signUp.badName")}
        </p>
      )}
      <form method="post" action="/invitation">
        <HiddenFields fields={fields} />
        <NameField label={t("signUp.name")} name={name} isInvalid={isRefused} />
        <div class="actions">
          <button type="submit" id="accept">
            {t(organization === "" ? "signUp.submit" : "invitation.accept")}
          </button>
        </div>
      </form>
    </Layout>
  );
  return respondPage(page, { status: isRefused ? 400 : 200, cookies: [browser.setCookie] });
}
