import { ClientMark } from "@edge-op/pages/client-mark";
import { describeWait } from "@edge-op/pages/describe-values";
import { Layout } from "@edge-op/pages/layout";
import { displayName, Person } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { type Factors, findFactors } from "@edge-op/shared/users/factors";
import type { User } from "@edge-op/shared/users/user";
import { verifiedAddress } from "@edge-op/shared/users/user-addresses";
import type { Child } from "hono/jsx";
import { describeClient } from "../pages/describe-client.tsx";
import { HiddenFields, invalidIf, OtherWays } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { AuthKey, AuthTranslator } from "../pages/messages.ts";
import { WhoHelps } from "../pages/who-helps.tsx";
import { findOfferedRecovery } from "../step/recovery-by-address.ts";
import { isRecovering, isRecoveryAllowed } from "../step/second-factor.ts";
import type { StepForm, StepPageRequest } from "../step/step.ts";
import { findSubject, stepFrame } from "../step/step-request.ts";
import { CodeField, codeFieldLength, totpDigits } from "./app-setup.tsx";
import { passkeyMethod } from "./passkey-method.tsx";
import { PasskeyFailure } from "./passkey-parts.tsx";
import { offeredDays } from "./remembered-device.ts";
import type { CodeFault } from "./verify-code.ts";

interface ProveMoreView {
  readonly form: StepForm;
  readonly client: { readonly name: string; readonly logoUri: string | undefined } | undefined;
  readonly user: User;
  readonly factors: Factors;
  readonly passkey: Child | undefined;
  readonly problem:
    | { readonly kind: "refused"; readonly fault: CodeFault | "passkey" }
    | { readonly kind: "throttled"; readonly seconds: number }
    | undefined;
  /** A recovery code that was refused. */
  readonly typed: string | undefined;
  /** 0: not offered. */
  readonly rememberDays: number;
  /** The person has proven their mailbox, and is about to set a new password. */
  readonly isRecovering: boolean;
  /** Who has none of it may recover the account by mail alone. */
  readonly canLoseAll: boolean;
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
    typed: at.flow.problem !== undefined && "typed" in at.flow.problem ? at.flow.problem.typed : undefined,
    isRecovering: isRecovering(at.flow),
    canLoseAll: isRecovering(at.flow)
      ? (await findOfferedRecovery(at, at.flow, at.policy, factors)) !== undefined
      : isRecoveryAllowed(at.policy) && verifiedAddress(user.claims) !== undefined,
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

const faults = ["used", "old", "recoveryCode", "passkey"] as const;
const refusals = {
  wrong: "factor.refused",
  used: "factor.refusedUsed",
  old: "factor.refusedOld",
  recoveryCode: "factor.refusedRecovery",
  passkey: "factor.refusedPasskey",
} as const;

/** What the person is asked for: a factor, or after the proof of a mailbox what opens the account beside it. */
function headOf({ factors, isRecovering }: ProveMoreView): { readonly title: AuthKey; readonly text: AuthKey } {
  if (!isRecovering) return { title: "factor.title", text: "factor.text" };
  if (factors.totp) return { title: "factor.title", text: "factor.recoverText" };
  if (factors.recoveryCodes) return { title: "factor.recoverCodesTitle", text: "factor.recoverCodesText" };
  return {
    title: "factor.recoverOtherTitle",
    text: factors.passkeys ? "factor.recoverPasskey" : "factor.recoverProvider",
  };
}

function problemOf({ flow: { problem }, context }: StepPageRequest): ProveMoreView["problem"] {
  if (problem?.kind === "refused") {
    return { kind: "refused", fault: faults.find((each) => each === problem.method) ?? "wrong" };
  }
  if (problem?.kind !== "throttled") return undefined;
  const seconds = Math.ceil((problem.untilMs - context.arrivedAtMs) / 1000);
  return seconds > 0 ? { kind: "throttled", seconds } : undefined;
}

function ProveMorePage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: ProveMoreView }) {
  const { t } = frame;
  const { form, client, user, factors, passkey, problem, rememberDays, isRecovering, canLoseAll, typed } = view;
  const hasCode = factors.totp || factors.recoveryCodes;
  const isStuck = isRecovering && !hasCode;
  const isWrong = problem?.kind === "refused" && problem.fault !== "passkey";
  const isRecoveryCode = typed !== undefined;
  const name = displayName(user);
  const head = headOf(view);
  return (
    <Layout {...frame} title={t(head.title)} scripts={passkey === undefined ? [] : passkeyMethod.scripts}>
      <div class="head">
        {client && <ClientMark name={client.name} logoUri={client.logoUri} />}
        <h1>{t(head.title)}</h1>
        <p class="muted">{t(head.text)}</p>
        {isStuck && !canLoseAll && <WhoHelps frame={frame} text={t("factor.recoverLost")} />}
        <Person name={name} text={name} />
      </div>
      {problem && (
        <p class="note bad" role="alert" id="problem">
          {problem.kind === "throttled"
            ? frame.t("signIn.throttled", { wait: describeWait(frame.t.language, problem.seconds) })
            : t(refusals[problem.fault])}
        </p>
      )}
      <PasskeyFailure t={t} text={t("factor.refusedPasskey")} />
      {factors.totp && (
        <form method="post" action={form.action}>
          <HiddenFields fields={form.fields} />
          <CodeField
            t={t}
            id="code"
            label={t("factor.code")}
            digits={totpDigits}
            invalid={invalidIf(isWrong && !isRecoveryCode)}
            autofocus={!isRecoveryCode}
          />
          <Remember t={t} id="remember" days={rememberDays} />
          <div class="actions">
            <button type="submit" id="confirm">
              {t("factor.submit")}
            </button>
          </div>
        </form>
      )}
      {factors.recoveryCodes && (
        <RecoveryForm
          t={t}
          form={form}
          isOpen={!factors.totp || isRecoveryCode}
          typed={typed}
          isWrong={isWrong && isRecoveryCode}
          days={rememberDays}
        />
      )}
      <div class="actions">
        {passkey && hasCode && (
          <p class="or" data-with-passkey hidden>
            {t("passkey.or")}
          </p>
        )}
        {passkey}
        <OtherWays
          frame={frame}
          form={form}
          ways={[
            canLoseAll ? { name: "lost", value: "all", id: "lost-all", text: t("factor.lostAll") } : undefined,
            {
              name: "account",
              value: "other",
              id: "other-account",
              text: t(isStuck ? "factor.otherWay" : "factor.other"),
            },
          ]}
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
  readonly typed: string | undefined;
  readonly isWrong: boolean;
  readonly days: number;
}) {
  const { t, form } = props;
  return (
    <details class="top" open={props.isOpen}>
      <summary>{t("factor.recovery")}</summary>
      <form method="post" action={form.action}>
        <HiddenFields fields={{ ...form.fields, field: "recovery" }} />
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
          value={props.typed ?? ""}
          autofocus={props.typed !== undefined}
          {...invalidIf(props.isWrong)}
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
