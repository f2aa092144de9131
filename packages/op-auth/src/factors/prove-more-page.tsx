import { ClientMark } from "@edge-op/pages/client-mark";
import { Layout } from "@edge-op/pages/layout";
import { displayName, Person } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { type Factors, findFactors } from "@edge-op/shared/users/factors";
import type { User } from "@edge-op/shared/users/user";
import type { Child } from "hono/jsx";
import { describeClient } from "../pages/describe-client.tsx";
import { describeWait } from "../pages/describe-values.ts";
import { HiddenFields, invalidIf, OtherWays } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { AuthTranslator } from "../pages/messages.ts";
import { isRecovering } from "../step/second-factor.ts";
import type { StepForm, StepPageRequest } from "../step/step.ts";
import { findSubject, stepFrame } from "../step/step-request.ts";
import { CodeField, codeFieldLength } from "./app-setup.tsx";
import { passkeyMethod } from "./passkey-method.tsx";
import { offeredDays } from "./remembered-device.ts";

interface ProveMoreView {
  readonly form: StepForm;
  readonly client: { readonly name: string; readonly logoUri: string | undefined } | undefined;
  readonly user: User;
  readonly factors: Factors;
  readonly passkey: Child | undefined;
  readonly problem:
    | { readonly kind: "refused"; readonly isPasskey: boolean }
    | { readonly kind: "throttled"; readonly seconds: number }
    | undefined;
  /** 0: not offered. */
  readonly rememberDays: number;
  /** The person has proven their mailbox, and is about to set a new password. */
  readonly isRecovering: boolean;
}

/**
 * **The page for a second factor.** It offers what the person has. Cost: 1 D1 call, 2 for a person with passkeys; 1 object call for a person who has
 * proven nothing in this flow.
 */
export async function showProveMore(at: StepPageRequest): Promise<Response> {
  const { context, isolate, authorization, form, restart } = at;
  const user = await findSubject(at);
  const factors = user && (await findFactors(context.env.DB, user.sub));
  if (user === undefined || factors === undefined) return redirect(restart);
  const frame = await stepFrame(at);
  const { t } = frame;
  const others = { username: undefined, isRefused: false, isAlternative: factors.totp || factors.recoveryCodes };
  const view: ProveMoreView = {
    ...{ form, user, factors },
    client: authorization && (await describeClient(context, isolate, authorization.client)),
    passkey: factors.passkeys ? await passkeyMethod.render(at, { t, form, account: user, ...others }) : undefined,
    problem: problemOf(at),
    isRecovering: isRecovering(at.flow),
    rememberDays: offeredDays(at),
  };
  const { problem } = view;
  const isThrottled = problem?.kind === "throttled";
  return respondPage(<ProveMorePage frame={frame} view={view} />, {
    status: problem === undefined ? 200 : isThrottled ? 429 : 400,
    headers: isThrottled ? { "Retry-After": String(problem.seconds) } : {},
    formLeaves: authorization !== undefined,
  });
}

function problemOf({ flow: { problem }, context }: StepPageRequest): ProveMoreView["problem"] {
  if (problem?.kind === "refused") return { kind: "refused", isPasskey: problem.method === "passkey" };
  if (problem?.kind !== "throttled") return undefined;
  const seconds = Math.ceil((problem.untilMs - context.arrivedAtMs) / 1000);
  return seconds > 0 ? { kind: "throttled", seconds } : undefined;
}

function ProveMorePage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: ProveMoreView }) {
  const { t } = frame;
  const { form, client, user, factors, passkey, problem, rememberDays, isRecovering } = view;
  const hasCode = factors.totp || factors.recoveryCodes;
  const isWrong = problem?.kind === "refused" && !problem.isPasskey;
  const invalid = invalidIf(isWrong);
  const name = displayName(user);
  return (
    <Layout {...frame} title={t("factor.title")} scripts={passkey === undefined ? [] : passkeyMethod.scripts}>
      <div class="head">
        {client && <ClientMark name={client.name} logoUri={client.logoUri} />}
        <h1>{t("factor.title")}</h1>
        <p class="muted">{t(!isRecovering ? "factor.text" : hasCode ? "factor.recoverText" : "factor.recoverOther")}</p>
        <Person name={name} text={name} />
      </div>
      {problem && (
        <p class="note bad" role="alert" id="problem">
          {problem.kind === "throttled"
            ? frame.t("signIn.throttled", { wait: describeWait(frame.t.language, problem.seconds) })
            : t(problem.isPasskey ? "factor.refusedPasskey" : "factor.refused")}
        </p>
      )}
      <p class="note bad" role="alert" data-passkey-failure hidden>
        {t("factor.refusedPasskey")}
      </p>
      {factors.totp && (
        <form method="post" action={form.action}>
          <HiddenFields fields={form.fields} />
          <CodeField id="code" label={t("factor.code")} invalid={invalid} />
          <Remember t={t} id="remember" days={rememberDays} />
          <div class="actions">
            <button type="submit" id="confirm">
              {t("factor.submit")}
            </button>
          </div>
        </form>
      )}
      {factors.recoveryCodes && <RecoveryForm t={t} form={form} isOpen={!factors.totp} days={rememberDays} />}
      <div class="actions">
        {passkey}
        <OtherWays
          frame={frame}
          form={form}
          ways={[{ name: "account", value: "other", id: "other-account", text: t("factor.other") }]}
          canCancel={client !== undefined}
        />
      </div>
    </Layout>
  );
}

function RecoveryForm(props: {
  readonly t: AuthTranslator;
  readonly form: StepForm;
  readonly isOpen: boolean;
  readonly days: number;
}) {
  const { t, form } = props;
  return (
    <details class="top" open={props.isOpen}>
      <summary>{t("factor.recovery")}</summary>
      <form method="post" action={form.action}>
        <HiddenFields fields={form.fields} />
        <label for="recovery-code">{t("factor.recoveryCode")}</label>
        <input
          id="recovery-code"
          name="code"
          type="text"
          autocomplete="off"
          autocapitalize="characters"
          spellcheck={false}
          required
          maxlength={codeFieldLength}
        />
        <Remember t={t} id="remember-recovery" days={props.days} />
        <div class="actions">
          <button type="submit" class="quiet" id="confirm-recovery">
            {t("factor.submit")}
          </button>
        </div>
      </form>
    </details>
  );
}

function Remember({ t, id, days }: { readonly t: AuthTranslator; readonly id: string; readonly days: number }) {
  if (days === 0) return null;
  return (
    <label class="check" for={id}>
      <input type="checkbox" id={id} name="remember" value="1" />
      {t("factor.remember", { days })}
    </label>
  );
}
