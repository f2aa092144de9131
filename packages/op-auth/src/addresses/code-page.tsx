import { describeWait } from "@edge-op/pages/describe-values";
import { Layout } from "@edge-op/pages/layout";
import { CodeField } from "../factors/app-setup.tsx";
import { HiddenFields, invalidIf, type OtherWay, OtherWays } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { AuthTranslator } from "../pages/messages.ts";
import type { MailedCode, Problem } from "../step/flow.ts";
import { isCodeValid } from "./mailed-code.ts";

const mailedDigits = 8;

/** The faults of an address or a code, as a flow keeps them: `refused` with one of these as its method. */
export const codeFaults = ["invalidAddress", "wrong", "expired", "over"] as const;
export type CodeFault = (typeof codeFaults)[number];

export type CodeProblem =
  | { readonly kind: CodeFault }
  | { readonly kind: "throttled"; readonly seconds: number }
  | undefined;

/** The problem of a flow, if it concerns an address or a code. A person who waited long enough is not told to wait. */
export function codeProblemOf(problem: Problem | undefined, nowMs: number): CodeProblem {
  if (problem?.kind === "refused") {
    const fault = codeFaults.find((each) => each === problem.method);
    return fault && { kind: fault };
  }
  if (problem?.kind !== "throttled") return undefined;
  const seconds = Math.ceil((problem.untilMs - nowMs) / 1000);
  return seconds > 0 ? { kind: "throttled", seconds } : undefined;
}

/** Status and headers of a page with a problem. */
export function respondingTo(problem: CodeProblem): {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
} {
  if (problem?.kind === "throttled") return { status: 429, headers: { "Retry-After": String(problem.seconds) } };
  return { status: problem === undefined ? 200 : 400, headers: {} };
}

type Forms = { readonly action: string; readonly fields: Readonly<Record<string, string>> };

/** `hasCode`: a code that was sent before can still be entered. */
export function CodeProblemNote(props: {
  readonly frame: AuthPageFrame;
  readonly problem: CodeProblem;
  readonly hasCode?: boolean;
}) {
  const { frame, problem, hasCode = false } = props;
  if (problem === undefined) return null;
  const { t } = frame;
  const isThrottled = problem.kind === "throttled";
  const wait = isThrottled ? describeWait(t.language, problem.seconds) : "";
  return (
    <p class="note bad" role="alert" id="problem">
      {isThrottled ? t(hasCode ? "code.throttledEarlier" : "code.throttled", { wait }) : t(`code.${problem.kind}`)}
    </p>
  );
}

/** **The field `address`**, for an address that gets a code. */
export function AddressField(props: {
  readonly label: string;
  readonly address: string;
  readonly isInvalid: boolean;
  readonly autofocus?: boolean;
}) {
  const invalid = invalidIf(props.isInvalid);
  return (
    <>
      <label for="address">{props.label}</label>
      <input
        id="address"
        name="address"
        type="email"
        autocomplete="email"
        autocapitalize="none"
        autocorrect="off"
        dir="ltr"
        spellcheck={false}
        required
        maxlength={254}
        value={props.address}
        autofocus={props.autofocus}
        {...invalid}
      />
    </>
  );
}

/** **The form for an address that gets a code**: the field `address`. */
export function AddressForm(props: {
  readonly frame: AuthPageFrame;
  readonly form: Forms;
  readonly address: string | undefined;
  readonly isInvalid: boolean;
}) {
  const { frame, form, address = "", isInvalid } = props;
  const { t } = frame;
  return (
    <form method="post" action={form.action} id="address-form">
      <HiddenFields fields={form.fields} />
      <AddressField label={t("code.address")} address={address} isInvalid={isInvalid} autofocus />
      <div class="actions">
        <button type="submit" id="send-code">
          {t("code.send")}
        </button>
      </div>
    </form>
  );
}

export interface CodePageView {
  readonly form: Forms;
  /** Absent: none was sent, because of a limit. */
  readonly mailed: MailedCode | undefined;
  readonly problem: CodeProblem;
  /** Whether the flow can be cancelled. */
  readonly canCancel: boolean;
  /** Whether the page is one of the account's, and links to it. */
  readonly isOfAccount?: boolean;
  readonly nowMs: number;
  /** Where to start again when no code is accepted any more. */
  readonly restart: string;
  /** For a code that the person did not request: why it is needed, and another way in place of another address. */
  readonly demanded?: { readonly text: string; readonly other: OtherWay } | undefined;
}

/**
 * **The page for a mailed code.** It says the same whether the address got a mail or not. Its forms post `code`, `again` (another code), `other`
 * (another address) or `cancel`.
 */
export function CodePage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: CodePageView }) {
  const { t } = frame;
  const { form, mailed, problem, canCancel, isOfAccount = false, demanded, nowMs, restart } = view;
  const isResent = mailed?.isAnother === true && problem === undefined;
  const hasCode = mailed !== undefined && isCodeValid(mailed, nowMs);
  const isWrong = problem !== undefined && problem.kind !== "throttled";
  const invalid = invalidIf(isWrong);
  return (
    <Layout {...frame} title={t("code.title")} account={isOfAccount}>
      <div class="head">
        <h1>{t("code.title")}</h1>
        {demanded && <p class="muted">{demanded.text}</p>}
        {mailed && !isResent && <p class="muted">{describeSent(t, mailed)}</p>}
        {mailed && <p class="muted small">{t("code.sentHint")}</p>}
      </div>
      {mailed && isResent && (
        <p class="note good" role="status" id="sent-another">
          {describeSent(t, mailed)}
        </p>
      )}
      <CodeProblemNote frame={frame} problem={problem} hasCode={hasCode} />
      {mailed && problem?.kind !== "over" && (
        <form method="post" action={form.action}>
          <HiddenFields fields={form.fields} />
          <CodeField t={t} id="code" label={t("code.code")} digits={mailedDigits} invalid={invalid} />
          <div class="actions">
            <button type="submit" id="confirm-code">
              {t("code.submit")}
            </button>
          </div>
        </form>
      )}
      <div class="actions">
        {problem?.kind === "over" && (
          <a class="button quiet" href={restart} id="restart">
            {t("code.restart")}
          </a>
        )}
        <OtherWays
          frame={frame}
          form={form}
          ways={[
            problem?.kind === "over"
              ? undefined
              : { name: "again", value: "1", id: "another-code", text: t("code.again") },
            demanded?.other ?? { name: "other", value: "1", id: "other-address", text: t("code.other") },
          ]}
          canCancel={canCancel}
        />
      </div>
    </Layout>
  );
}

/** An address that the person did not type is not told in whole: they have proven no more than a password. */
function describeSent(t: AuthTranslator, { purpose, address, isAnother = false }: MailedCode): string {
  const shown = purpose === "sign-in" ? `${address.slice(0, 1)}…${address.slice(address.indexOf("@"))}` : address;
  const ofRecovery = isAnother ? "code.sentAnotherRecover" : "code.sentRecover";
  return t(purpose === "recover" ? ofRecovery : isAnother ? "code.sentAnother" : "code.sent", { address: shown });
}
