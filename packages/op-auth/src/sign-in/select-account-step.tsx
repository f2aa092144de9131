import { ClientMark } from "@edge-op/pages/client-mark";
import { formToken } from "@edge-op/pages/form-token";
import { Layout } from "@edge-op/pages/layout";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import type { Form } from "@edge-op/shared/http/read-form";
import { describeClient } from "../pages/describe-client.tsx";
import { AccountList, accountsForm, choosePath, OtherAccountForm } from "../session/account-list.tsx";
import { accountCookies, isAlone, readAccounts, withActive } from "../session/browser-accounts.ts";
import { decideAccounts, type SignedInPerson } from "../session/signed-in-person.ts";
import type { Step, StepInput, StepPageRequest, StepRequest, StepResult, StepState } from "../step/step.ts";
import { stepFrame } from "../step/step-request.ts";

/** **The choice of an account**: for `prompt=select_account`, and where a request does not say which of several it is for. */
export const selectAccountStep: Step = {
  name: "select-account",
  methods: [],
  isForPerson: false,
  writes: false,
  state: selectAccountState,
  page: showSelectAccount,
  submit: submitSelectAccount,
};

/** **Whether a person must choose an account**, unless they have chosen in this flow, or proven something in it. */
function selectAccountState({ flow, facts: { person, mustChoose }, policy }: StepInput): StepState {
  const isAsked = person !== undefined && policy.prompt.includes("select_account");
  if (!isAsked && !mustChoose) return { kind: "done" };
  const { accountSelected, otherAccount } = flow.marks;
  if (accountSelected || otherAccount || flow.proofs.length > 0) return { kind: "done" };
  return { kind: "needed", error: "account_selection_required" };
}

/**
 * **The page that lists the accounts of this browser**, and offers another one. Cost: 1 object call for each account; a logo as in
 * describe-client.tsx.
 */
async function showSelectAccount(at: StepPageRequest): Promise<Response> {
  const { context, isolate, authorization, form, browser } = at;
  const people = await findPeople(at);
  if (authorization === undefined || people.length === 0) return redirect(at.restart);
  const client = await describeClient(context, isolate, authorization.client);
  const frame = await stepFrame(at);
  const { t } = frame;
  const token = await formToken(context, accountsForm, browser.id);
  const to = `${form.action}?${new URLSearchParams({ f: form.fields.f })}`;
  const { active } = await readAccounts(context, at.request);
  const page = (
    <Layout {...frame} title={t("select.title")} account>
      <div class="head">
        <ClientMark name={client.name} logoUri={client.logoUri} />
        <h1>{t("select.title")}</h1>
        <p class="muted">{t("select.to", { client: client.name })}</p>
      </div>
      <AccountList
        frame={frame}
        people={people}
        activeId={active?.id}
        choosing={form}
        signingOut={{ action: choosePath, fields: { form_token: token, to } }}
      />
      <OtherAccountForm frame={frame} form={form} />
    </Layout>
  );
  return respondPage(page, { formLeaves: true });
}

/** Those who can be chosen. The only account has been read for the flow. */
async function findPeople(at: StepRequest): Promise<readonly SignedInPerson[]> {
  if (!isAlone(await readAccounts(at.context, at.request))) return decideAccounts(at);
  const { person, holder } = await at.account();
  return [person ?? holder].filter((each) => each !== undefined);
}

/**
 * **The choice**: the flow is bound to the person, whose account becomes the active one. The previous release, to which a page of a flow may be sent,
 * knows no other.
 */
async function submitSelectAccount(at: StepRequest, form: Form): Promise<StepResult> {
  const { context, request, flow } = at;
  const chosen = form.get("choose");
  const people = await findPeople(at);
  const accounts = await readAccounts(context, request);
  // The page of the previous release has the active account alone.
  const isCurrent = chosen === undefined && form.get("account") !== "other";
  const person = people.find(({ user, sessionId }) =>
    isCurrent ? sessionId === accounts.active?.id : user.sub === chosen,
  );
  if (person === undefined) {
    return { kind: "go to", step: "sign-in", marks: { otherAccount: true, account: undefined } };
  }
  const { sub } = person.user;
  const marks = { accountSelected: true, account: sub, otherAccount: undefined };
  if (person.sessionId === accounts.active?.id) return { kind: "done", marks, typed: flow.typed };
  const all = people.map((each) => ({ id: each.sessionId, sub: each.user.sub }));
  const active = { id: person.sessionId, sub };
  const cookies = await accountCookies(context, request, withActive({ ...accounts, all }, active));
  return { kind: "done", marks, typed: flow.typed, cookies };
}
