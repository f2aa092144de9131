import { personalDates } from "@edge-op/pages/describe-values";
import { Layout } from "@edge-op/pages/layout";
import { displayName, Person } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { Form } from "@edge-op/shared/http/read-form";
import { stopLinkTo } from "@edge-op/shared/mail/sealed-links";
import { tellPersonWhen } from "@edge-op/shared/mail/tell-person";
import { findFactors } from "@edge-op/shared/users/factors";
import type { User } from "@edge-op/shared/users/user";
import { HiddenFields, OtherWays } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import { type AddressRecovery, askForRecovery, stateOf, usableMs, waitMs } from "../session/address-recovery.ts";
import { oldestVersion, writeAs } from "../session/write-as.ts";
import { pendingProofs } from "../step/flow.ts";
import { findOfferedRecovery } from "../step/recovery-by-address.ts";
import { recoveryFactor, recoveryProof } from "../step/second-factor.ts";
import type {
  DecidedRequest,
  Step,
  StepForm,
  StepInput,
  StepPageRequest,
  StepResult,
  StepState,
} from "../step/step.ts";
import { findSubject, stepFrame } from "../step/step-request.ts";

/**
 * **Asks for a recovery by mail alone**, and says when it can be used (`RECOVERY=address`): for a person who has proven a mailbox and says that they
 * have nothing else. A day later the same mailbox leads to the new password, without this step.
 */
export const awaitRecoveryStep: Step = {
  name: "await-recovery",
  methods: [],
  isForPerson: false,
  writes: true,
  state: awaitRecoveryState,
  page: showAwaitRecovery,
  submit: submitAwaitRecovery,
};

/** Pure. */
function awaitRecoveryState(input: StepInput): StepState {
  const { flow, facts } = input;
  const isChosen = flow.marks.lostAll !== undefined && flow.marks.lostAll === recoveryProof(flow)?.sub;
  const isNeeded = isChosen && facts.recovery !== undefined && recoveryFactor(input) !== "none";
  return isNeeded ? { kind: "needed", error: "login_required" } : { kind: "done" };
}

/** The recovery that a person has, if it has not ended. */
function current(recovery: AddressRecovery | undefined, nowMs: number): AddressRecovery | undefined {
  return recovery !== undefined && stateOf(recovery, nowMs) !== "over" ? recovery : undefined;
}

/**
 * **A posted request.** It is written with its event, once its mail to all addresses is prepared, and only then: without mail nobody could stop it. A
 * second request changes nothing. Cost: 1 object call, then 1 D1 call.
 */
async function submitAwaitRecovery(at: DecidedRequest, form: Form): Promise<StepResult> {
  if (form.get("cancel") !== undefined) return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  if (form.get("account") === "other") return { kind: "go to", step: "sign-in", marks: { otherAccount: true } };
  const { context, flow, recovery } = at;
  const { env, arrivedAtMs: atMs } = context;
  const proof = recoveryProof(flow);
  if (proof?.credential === undefined || recovery === undefined) return { kind: "go to", step: "sign-in" };
  if (current(recovery.recovery, atMs) !== undefined) return { kind: "done" };
  const { sub, credential: key } = proof;
  const id = randomBase64Url(16);
  const asked = { action: "account.recovery_asked", target: sub, actor: sub };
  const undo = { path: await stopLinkTo(env, { sub, id }) };
  const notice = { sub, kind: "recovery-asked", evidence: asked, undo } as const;
  const isAsked = await tellPersonWhen(context, notice, async (ready) => {
    if ((await ready) !== true) return false;
    const statements = [
      askForRecovery(env.DB, { sub, id, key, atMs }),
      recordAdminEvent(context, asked, { ifChanged: true }),
    ];
    return writeAs(context, { sub, version: oldestVersion(pendingProofs(flow)) }, statements);
  });
  if (!isAsked) return { kind: "again", problem: { kind: "refused", method: "notAsked" } };
  wakeAuditLog(context);
  return { kind: "done" };
}

/** **The page that explains it, then the one that says when.** Cost: 2 D1 calls after each other. */
async function showAwaitRecovery(at: StepPageRequest): Promise<Response> {
  const { context, authorization, flow, form, policy, restart } = at;
  const user = await findSubject(at);
  const factors = user && (await findFactors(context.env.DB, user.sub));
  const offered = await findOfferedRecovery(at, flow, policy, factors);
  if (user === undefined || offered === undefined) return redirect(restart);
  const frame = await stepFrame(at);
  const recovery = current(offered.recovery, context.arrivedAtMs);
  const isRefused = flow.problem?.kind === "refused" && recovery === undefined;
  const time = personalDates(context, frame.t.language, user).time;
  const view = {
    form,
    user,
    isRefused,
    canCancel: authorization !== undefined,
    shown: describe(frame, recovery, time),
  };
  return respondPage(<AwaitRecoveryPage frame={frame} view={view} />, {
    status: isRefused ? 400 : 200,
    formLeaves: authorization !== undefined,
  });
}

interface Shown {
  readonly title: string;
  readonly texts: readonly string[];
  readonly canAsk: boolean;
}

function describe({ t }: AuthPageFrame, recovery: AddressRecovery | undefined, time: (atMs: number) => string): Shown {
  if (recovery === undefined) {
    const texts = [t("byAddress.text"), t("byAddress.told"), t("byAddress.removes")];
    return { title: t("byAddress.title"), texts, canAsk: true };
  }
  const { askedAtMs, stoppedAtMs, untilMs } = recovery;
  if (stoppedAtMs !== undefined) {
    const texts = [t("byAddress.stoppedText", { time: time(untilMs) })];
    return { title: t("byAddress.stoppedTitle"), texts, canAsk: false };
  }
  const from = time(askedAtMs + waitMs);
  const texts = [t("byAddress.waitingText", { from, until: time(askedAtMs + waitMs + usableMs) }), t("byAddress.told")];
  return { title: t("byAddress.waitingTitle"), texts, canAsk: false };
}

interface View {
  readonly form: StepForm;
  readonly user: User;
  readonly isRefused: boolean;
  readonly canCancel: boolean;
  readonly shown: Shown;
}

function AwaitRecoveryPage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: View }) {
  const { t } = frame;
  const { form, user, isRefused, canCancel, shown } = view;
  const name = displayName(user);
  return (
    <Layout {...frame} title={shown.title}>
      <div class="head">
        <h1>{shown.title}</h1>
        <Person name={name} text={name} />
      </div>
      {isRefused && (
        <p class="note bad" role="alert" id="problem">
          {t("byAddress.notAsked")}
        </p>
      )}
      {shown.texts.map((text) => (
        <p>{text}</p>
      ))}
      {shown.canAsk && (
        <form method="post" action={form.action}>
          <HiddenFields fields={form.fields} />
          <div class="actions">
            <button type="submit" name="ask" value="1" id="ask">
              {t("byAddress.submit")}
            </button>
          </div>
        </form>
      )}
      <OtherWays
        frame={frame}
        form={form}
        ways={[{ name: "account", value: "other", id: "other-way", text: t("factor.otherWay") }]}
        canCancel={canCancel}
      />
    </Layout>
  );
}
