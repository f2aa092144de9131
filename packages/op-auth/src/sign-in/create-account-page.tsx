import { clientMark } from "@edge-op/pages/client-mark";
import { Layout } from "@edge-op/pages/layout";
import { Person } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { NoPasskeys, PasskeyFailure } from "../factors/passkey-parts.tsx";
import { passkeyScript } from "../factors/passkey-script.ts";
import { passkeyRegistrationOptions } from "../factors/register-passkey.ts";
import { ClientLinks, type ClientPages } from "../pages/describe-client.tsx";
import { HiddenFields, OtherWays } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import { describeProblem, NewPassword, type PasswordProblem, ShowPassword } from "../passwords/new-password.tsx";
import { readDeployment, type Terms } from "../runtime/deployment.ts";
import { type ProvenNewcomer, provenNewcomerOf } from "../step/flow.ts";
import type { StepForm, StepPageRequest } from "../step/step.ts";
import { stepFrame } from "../step/step-request.ts";
import { TermsOfCreation, termsFields } from "../terms/terms-parts.tsx";
import { signUpMethods } from "./methods.ts";
import { accountExists } from "./sign-up-rule.tsx";

interface CreateAccountView {
  /** Its fields contain the version of the terms. */
  readonly form: Pick<StepForm, "action"> & { readonly fields: Readonly<Record<string, string>> };
  readonly newcomer: ProvenNewcomer;
  /** WebAuthn creation options, JSON; absent if a passkey is not offered. */
  readonly passkeyOptions: string | undefined;
  readonly hasPassword: boolean;
  readonly min: number;
  /** What the person agrees to. */
  readonly terms: Terms | undefined;
  readonly client: ClientPages | undefined;
  readonly problem: PasswordProblem | { readonly kind: "passkey" | "terms" } | { readonly kind: "closed" } | undefined;
}

/** **The page on which a newcomer chooses how to sign in.** Cost: 0; 1 object call with a session cookie. */
export async function showCreateAccount(at: StepPageRequest): Promise<Response> {
  const { context, authorization, form, flow, policy, restart } = at;
  const newcomer = provenNewcomerOf(flow);
  if (newcomer === undefined) return redirect(restart);
  const exists = await accountExists(at, newcomer.address.address);
  if (exists !== undefined) return exists;
  const methods = signUpMethods(context, policy);
  const { terms } = readDeployment(context.env);
  const { sub, name, address } = newcomer;
  const user = { sub, username: address.address, claims: { name } };
  const view: CreateAccountView = {
    form: { ...form, fields: { ...form.fields, ...termsFields(terms) } },
    newcomer,
    terms,
    client: authorization && clientMark(authorization.client),
    passkeyOptions: methods.passkey ? await passkeyRegistrationOptions(context, user, [], flow.fid) : undefined,
    hasPassword: methods.password,
    min: context.settings.passwordMin,
    problem: problemOf(at),
  };
  const isThrottled = view.problem?.kind === "throttled";
  const frame = await stepFrame(at);
  return respondPage(<CreateAccountPage frame={frame} view={view} />, {
    status: view.problem === undefined ? 200 : isThrottled ? 429 : 400,
    formLeaves: authorization !== undefined,
  });
}

type Problem = CreateAccountView["problem"];

/** The step itself has written the problem into the sealed flow; that of an earlier step is none here. */
function problemOf({ flow: { problem }, context }: StepPageRequest): Problem {
  if (problem?.kind === "refused") return { kind: problem.method } as Problem;
  if (problem?.kind !== "throttled") return undefined;
  const seconds = Math.ceil((problem.untilMs - context.arrivedAtMs) / 1000);
  return seconds > 0 ? { kind: "throttled", seconds } : undefined;
}

export function CreateAccountPage({
  frame,
  view,
}: {
  readonly frame: AuthPageFrame;
  readonly view: CreateAccountView;
}) {
  const { t } = frame;
  const { form, newcomer, passkeyOptions, hasPassword, min, problem } = view;
  const { address } = newcomer.address;
  return (
    <Layout {...frame} title={t("signUp.methodTitle")} scripts={passkeyOptions === undefined ? [] : [passkeyScript]}>
      <div class="head">
        <h1>{t("signUp.methodTitle")}</h1>
        <Person name={newcomer.name} text={address} />
      </div>
      {problem && (
        <p class="note bad" role="alert" id="problem">
          {describe(frame, problem, min)}
        </p>
      )}
      <TermsOfCreation frame={frame} terms={view.terms} />
      {passkeyOptions !== undefined && (
        <>
          <PasskeyFailure t={t} kind="notCreated" text={t("signUp.passkeyFailed")} />
          <noscript>
            <p class="muted small">{t("signUp.noScript")}</p>
          </noscript>
          {!hasPassword && <NoPasskeys t={t} />}
          <form method="post" action={form.action} data-passkey="create" data-options={passkeyOptions} hidden>
            <HiddenFields fields={form.fields} />
            <input type="hidden" name="credential" value="" />
            <p class="muted">{t("signUp.methodText")}</p>
            <div class="actions">
              <button type="submit" id="create-passkey">
                {t("signUp.passkey")}
              </button>
            </div>
          </form>
        </>
      )}
      {passkeyOptions !== undefined && hasPassword && (
        <p class="or top" data-with-passkey hidden>
          {t("signUp.or")}
        </p>
      )}
      {hasPassword && (
        <PasswordForm
          frame={frame}
          view={view}
          isWrong={problem !== undefined && !["passkey", "throttled", "closed", "terms"].includes(problem.kind)}
        />
      )}
      <div class="actions">
        <OtherWays frame={frame} form={form} canCancel />
      </div>
      {view.client && <ClientLinks t={frame.t} client={view.client} />}
    </Layout>
  );
}

function PasswordForm(props: {
  readonly frame: AuthPageFrame;
  readonly view: CreateAccountView;
  readonly isWrong: boolean;
}) {
  const { frame, view } = props;
  const { form, newcomer, passkeyOptions, min } = view;
  const { t } = frame;
  const { address } = newcomer.address;
  return (
    <form method="post" action={form.action}>
      <HiddenFields fields={form.fields} />
      <div hidden>
        <label for="username">{t("signUp.username")}</label>
        <input id="username" name="username" type="text" value={address} autocomplete="username" readonly />
      </div>
      <NewPassword id="new" min={min} label={t("signUp.password")} isInvalid={props.isWrong} autofocus={props.isWrong}>
        <ShowPassword t={t} />
      </NewPassword>
      <p class="muted small" id="new-hint">
        {t("password.hint", { min })}
      </p>
      {/* Who cannot look at what they type repeats it. */}
      <noscript>
        <NewPassword id="repeat" min={min} label={t("password.repeat")} isInvalid={props.isWrong} />
      </noscript>
      <div class="actions">
        <button type="submit" class={passkeyOptions === undefined ? "" : "quiet"} id="create-account">
          {t("signUp.create")}
        </button>
      </div>
    </form>
  );
}

function describe(frame: AuthPageFrame, problem: NonNullable<Problem>, min: number): string {
  const { t } = frame;
  switch (problem.kind) {
    case "passkey":
      return t("signUp.passkeyFailed");
    case "closed":
      return t("signUp.closed");
    case "terms":
      return t("terms.changed");
    default:
      return describeProblem(frame, problem, min);
  }
}
