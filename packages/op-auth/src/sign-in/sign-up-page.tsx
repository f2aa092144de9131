import { ownText } from "@edge-op/pages/branding";
import { ClientMark } from "@edge-op/pages/client-mark";
import { Layout } from "@edge-op/pages/layout";
import { respondPage } from "@edge-op/pages/respond-page";
import type { Child } from "hono/jsx";
import { AddressField, CodePage, CodeProblemNote, codeProblemOf, respondingTo } from "../addresses/code-page.tsx";
import { ClientLinks, type ClientPages, describeClient } from "../pages/describe-client.tsx";
import { HiddenFields, OtherWays } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import { readDeployment } from "../runtime/deployment.ts";
import { newcomerOf } from "../step/flow.ts";
import type { StepForm, StepPageRequest } from "../step/step.ts";
import { stepFrame } from "../step/step-request.ts";
import { formLeaves } from "../upstream/discovery.ts";
import { accountExists, NameField } from "./sign-up-rule.tsx";

const refusals = { name: "signUp.badName", domain: "signUp.badDomain", closed: "signUp.closed" } as const;

/** **The page for a name and an address, then the one for the code.** The same for every address. Cost: 0; 1 object call with a session cookie. */
export async function showSignUp(at: StepPageRequest): Promise<Response> {
  const { context, authorization, form, flow, restart } = at;
  const newcomer = newcomerOf(flow);
  const exists = newcomer && (await accountExists(at, newcomer.address.address));
  if (exists !== undefined) return exists;
  const frame = await stepFrame(at);
  const problem = codeProblemOf(flow.problem, context.arrivedAtMs);
  const options = { ...respondingTo(problem), formLeaves: await formLeaves(at) };
  const { mailed } = flow.marks;
  if (newcomer !== undefined && mailed?.purpose === "sign-up") {
    const nowMs = context.arrivedAtMs;
    const view = { form, mailed, problem, canCancel: authorization !== undefined, nowMs, restart };
    return respondPage(<CodePage frame={frame} view={view} />, options);
  }
  const refusal = refusalOf(at);
  const status = refusal === undefined ? options.status : 400;
  const note =
    refusal === undefined ? (
      <CodeProblemNote frame={frame} problem={problem} />
    ) : (
      <Refusal frame={frame} at={at} refusal={refusal} />
    );
  const isInvalid = problem?.kind === "invalidAddress" || refusal === "domain";
  const client = authorization && (await describeClient(context, at.isolate, authorization.client));
  const view: NewcomerView = {
    ...{ form, client, note, isInvalid, isNameInvalid: refusal === "name" },
    name: flow.marks.typedName ?? newcomer?.name,
    address: flow.typed ?? newcomer?.address.address ?? authorization?.request.loginHint ?? "",
  };
  return respondPage(<NewcomerPage frame={frame} view={view} />, { ...options, status });
}

function refusalOf({ flow: { problem } }: StepPageRequest): keyof typeof refusals | undefined {
  const method = problem?.kind === "refused" ? problem.method : "";
  return Object.hasOwn(refusals, method) ? (method as keyof typeof refusals) : undefined;
}

function Refusal(props: {
  readonly frame: AuthPageFrame;
  readonly at: StepPageRequest;
  readonly refusal: keyof typeof refusals;
}) {
  const { frame, at, refusal } = props;
  const { t } = frame;
  const domains = readDeployment(at.context.env).signUp.domains.join(", ");
  return (
    <p class="note bad" role="alert" id="problem">
      {t(refusals[refusal], { domains })}
    </p>
  );
}

interface NewcomerView {
  readonly form: StepForm;
  readonly client: (ClientPages & { readonly name: string; readonly logoUri: string | undefined }) | undefined;
  readonly name: string | undefined;
  readonly address: string;
  readonly note: Child;
  readonly isInvalid: boolean;
  readonly isNameInvalid: boolean;
}

/** The page for a name and an address. */
export function NewcomerPage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: NewcomerView }) {
  const { t } = frame;
  const { form, client, note } = view;
  const intro = ownText(frame.branding, "sign_up_intro", t.language);
  return (
    <Layout {...frame} title={t("signUp.title")} formId="newcomer">
      <div class="head">
        {client && <ClientMark name={client.name} logoUri={client.logoUri} />}
        <h1>{t("signUp.title")}</h1>
        <p class="muted">
          {client ? t("signUp.to", { client: client.name }) : t("signUp.toProvider", { provider: frame.branding.name })}
        </p>
        {intro && <p id="intro">{intro}</p>}
      </div>
      {note}
      <form method="post" action={form.action} id="newcomer">
        <HiddenFields fields={form.fields} />
        <NameField label={t("signUp.name")} name={view.name} isInvalid={view.isNameInvalid} />
        <AddressField label={t("signUp.address")} address={view.address} isInvalid={view.isInvalid} />
        <div class="actions">
          <button type="submit" id="sign-up">
            {t("signUp.submit")}
          </button>
        </div>
      </form>
      <OtherWays
        frame={frame}
        form={form}
        formId="newcomer"
        ways={[{ name: "account", value: "existing", id: "has-account", text: t("signUp.hasAccount") }]}
        canCancel={client !== undefined}
      />
      {client && <ClientLinks t={frame.t} client={client} />}
    </Layout>
  );
}
