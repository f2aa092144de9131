import { Layout } from "@edge-op/pages/layout";
import { displayName } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { findAuthentication } from "@edge-op/protocol/oauth/authentication-context";
import type { Form } from "@edge-op/shared/http/read-form";
import { findFactors, hasSecondFactor } from "@edge-op/shared/users/factors";
import { HiddenFields } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import { isProvenIn, pendingProofs } from "../step/flow.ts";
import { mfaAcr } from "../step/second-factor.ts";
import type { DecidedRequest, Step, StepInput, StepPageRequest, StepResult, StepState } from "../step/step.ts";
import { findAllowed, findBasis, findSubject, stepFrame } from "../step/step-request.ts";
import { connectIdentity, type PendingLink, peekPendingLink } from "./link-identity.ts";

/** **Connecting an identity at an upstream provider** with the account that its person has proven. */
export const linkStep: Step = {
  name: "link",
  methods: [],
  isForPerson: false,
  writes: true,
  state: linkState,
  page: showLink,
  submit: submitLink,
};

/** **Whether a person is asked to connect an identity elsewhere**: they have proven the account that it waits for, in this flow. */
function linkState({ flow, facts: { person } }: StepInput): StepState {
  const { link } = flow.marks;
  const isTheirs = link !== undefined && link.sub === person?.sub && isProvenIn(flow, link.sub);
  return isTheirs ? { kind: "needed", error: "login_required" } : { kind: "done" };
}

/** **The page that shows both identities.** Cost: 1 object call. */
async function showLink(at: StepPageRequest): Promise<Response> {
  const { context, isolate, authorization, form, flow, restart } = at;
  const { link: mark } = flow.marks;
  const [user, link] = await Promise.all([findSubject(at), mark && peekPendingLink(context, isolate, mark.id)]);
  if (link === undefined || user?.sub !== link.sub) return redirect(restart);
  const frame = await stepFrame(at);
  const page = <LinkPage frame={frame} link={link} user={displayName(user)} form={form} />;
  return respondPage(page, { formLeaves: authorization !== undefined });
}

/**
 * **The decision to connect an identity elsewhere**, of the person who has proven the account in this flow. To connect it they prove the account at
 * its level, also where a sign-in needs less. An identity that cannot be connected any more is no reason to stop. Cost: 1 D1 call, beside it that of
 * link-identity.ts.
 */
async function submitLink(at: DecidedRequest, form: Form): Promise<StepResult> {
  const { link } = at.flow.marks;
  const user = await findSubject(at);
  const basis = await findBasis(at);
  if (link === undefined || user === undefined || basis === undefined) return { kind: "go to", step: "sign-in" };
  const isConnecting = form.get("decision") === "connect";
  const factors = at.factors ?? (await findFactors(at.context.env.DB, link.sub));
  const isAtLevel = findAuthentication(pendingProofs(at.flow), mfaAcr) !== undefined;
  if (isConnecting && !isAtLevel && (factors === undefined || hasSecondFactor(factors))) {
    return { kind: "go to", step: "prove-more" };
  }
  const [allowed] = await Promise.all([
    findAllowed(at, link.sub),
    isConnecting && connectIdentity(at, user, basis, link.id),
  ]);
  return { kind: "done", marks: { link: undefined }, allowed, factors };
}

interface Props {
  readonly frame: AuthPageFrame;
  readonly link: PendingLink;
  /** The display name of the account's person. */
  readonly user: string;
  readonly form: { readonly action: string; readonly fields: Readonly<Record<string, string>> };
}

/** **Asks whether an identity elsewhere is to be connected** with the account, and names both. */
export function LinkPage({ frame, link: { provider, label }, user, form }: Props) {
  const { t } = frame;
  return (
    <Layout {...frame} title={t("upstream.linkTitle")}>
      <div class="head">
        <h1>{t("upstream.linkTitle")}</h1>
        <p class="muted">{t("upstream.linkText")}</p>
      </div>
      <ul class="scopes">
        <li>{t("upstream.linkAccount", { user })}</li>
        <li>{t("upstream.linkIdentity", { provider, label })}</li>
      </ul>
      <form method="post" action={form.action} class="actions">
        <HiddenFields fields={form.fields} />
        <button type="submit" name="decision" value="connect" id="connect">
          {t("upstream.connect")}
        </button>
        <button type="submit" name="decision" value="skip" class="quiet" id="skip">
          {t("upstream.skip")}
        </button>
      </form>
    </Layout>
  );
}
