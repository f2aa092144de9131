import { Layout } from "@edge-op/pages/layout";
import { displayName, Person } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { passkeyMethods } from "@edge-op/protocol/oauth/authentication-context";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { describeDevice } from "@edge-op/shared/http/asker";
import type { Form } from "@edge-op/shared/http/read-form";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { listPasskeys } from "@edge-op/shared/users/credentials";
import type { User } from "@edge-op/shared/users/user";
import { verifiedAddress } from "@edge-op/shared/users/user-addresses";
import { HiddenFields } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import { basisOf } from "../session/signed-in-person.ts";
import { type Basis, writeAs } from "../session/write-as.ts";
import { freshMs } from "../step/second-factor.ts";
import type { Step, StepInput, StepPageRequest, StepRequest, StepResult, StepState } from "../step/step.ts";
import { stepFrame } from "../step/step-request.ts";
import { findCodesSet, saveRecoveryCodes } from "./factor-store.ts";
import { passkeyScript } from "./passkey-script.ts";
import { RecoveryCodeList, recoveryCodesScript } from "./recovery-code-list.tsx";
import { makeRecoveryCodes, pageSecret, type RecoveryCodes } from "./recovery-codes.ts";
import { passkeyRegistrationOptions, registerPasskey } from "./register-passkey.ts";

/** Another ceremony than that of a passkey that was created in the same flow. */
function ceremonyOf({ flow }: Pick<StepRequest, "flow">): string {
  return `${flow.fid} second`;
}

/** **The form that adds another passkey in a flow**, of a person who has one. Hidden without its script. Cost: 1 D1 call. */
export async function secondPasskeyForm(at: StepPageRequest, user: User, { t }: AuthPageFrame) {
  const { context, form } = at;
  const registered = await listPasskeys(context.env.DB, user.sub);
  const options = await passkeyRegistrationOptions(context, user, registered, ceremonyOf(at));
  return (
    <form method="post" action={form.action} data-passkey="create" data-options={options} hidden>
      <HiddenFields fields={form.fields} />
      <input type="hidden" name="credential" value="" />
      <button type="submit" class="quiet" id="second-passkey">
        {t("factor.secondPasskey")}
      </button>
    </form>
  );
}

/** The note of a passkey that was not created, or not accepted. */
export function PasskeyFailure({ frame, isRefused }: { readonly frame: AuthPageFrame; readonly isRefused: boolean }) {
  const text = frame.t("factor.refusedPasskey");
  return (
    <p class="note bad" role="alert" data-passkey-failure hidden={!isRefused}>
      {text}
    </p>
  );
}

/** **Adds the passkey, soon after a sign-in by passkey**, the level of the account. Cost: 1 D1 call, 1 object call, and tell-person.ts. */
export async function addSecondPasskey(at: StepRequest, response: string): Promise<boolean> {
  const { context, request } = at;
  const person = await at.person();
  const isFresh = person?.session.proofs.some(
    ({ method, atMs }) => passkeyMethods.includes(method) && context.arrivedAtMs - atMs <= freshMs,
  );
  if (person === undefined || isFresh !== true) return false;
  const device = describeDevice(request.headers.get("user-agent"));
  const taken = (await listPasskeys(context.env.DB, person.user.sub)).map(({ name }) => name);
  const name = taken.includes(device) ? `${device} (${taken.length + 1})` : device;
  return registerPasskey(context, person.user, basisOf(person), { ceremonyId: ceremonyOf(at), response, name });
}

/**
 * **New recovery codes**, for a person who has just set up their first app, used a recovery code (NIST SP 800-63B-4 §4.2.1.1: a used code is
 * replaced), or signed in for the first time by a passkey that is their only way in. The person may decide to keep what they have.
 */
export const recoveryCodesStep: Step = {
  name: "recovery-codes",
  methods: [],
  isForPerson: true,
  writes: true,
  state: recoveryCodesState,
  page: showRecoveryCodes,
  submit: submitRecoveryCodes,
};

/** **Whether a person is shown new recovery codes.** */
function recoveryCodesState({ flow, facts: { person } }: StepInput): StepState {
  const { newCodes } = flow.marks;
  const isDue = person !== undefined && newCodes?.sub === person.sub;
  return isDue ? { kind: "needed", error: "login_required" } : { kind: "done" };
}

/**
 * **The page with new recovery codes.** They are stored when the person says that they have saved them. A person whose passkey is their only way in
 * may add another passkey instead; recovery codes help them only beside a mailbox. Cost: that of {@link pageCodes}, and for a passkey 1 D1 call.
 */
async function showRecoveryCodes(at: StepPageRequest): Promise<Response> {
  const { authorization, form, restart, flow } = at;
  const made = await pageCodes(at);
  if (made === undefined) return redirect(restart);
  const frame = await stepFrame(at);
  const { t } = frame;
  const { user, codes, replaced, hasOnePasskey } = made;
  const passkey = hasOnePasskey ? await secondPasskeyForm(at, user, frame) : undefined;
  const isOffered = !hasOnePasskey || isMailable(at, user);
  const title = t(hasOnePasskey ? "factor.onlyPasskeyTitle" : "factor.codesTitle");
  const withoutPasskey = replaced === "" ? "factor.firstCodesText" : "factor.newCodesText";
  const withPasskey = isOffered ? "factor.onlyPasskeyText" : "factor.onlyPasskeyNoMail";
  const isRefused = flow.problem?.kind === "refused";
  const name = displayName(user);
  const page = (
    <Layout
      {...frame}
      title={title}
      scripts={[...(isOffered ? [recoveryCodesScript] : []), ...(passkey ? [passkeyScript] : [])]}
    >
      <div class="head">
        <h1>{title}</h1>
        <p class="muted">{t(hasOnePasskey ? withPasskey : withoutPasskey)}</p>
        <Person name={name} text={name} />
      </div>
      {passkey && <PasskeyFailure frame={frame} isRefused={isRefused} />}
      {isOffered && (
        <RecoveryCodeList frame={frame} username={user.username} codes={codes}>
          <form method="post" action={form.action} class="actions">
            <HiddenFields fields={form.fields} />
            <button type="submit" class="quiet" name="codes" value="saved" id="saved">
              {t("factor.done")}
            </button>
          </form>
        </RecoveryCodeList>
      )}
      <div class="actions">
        {passkey}
        <form method="post" action={form.action}>
          <HiddenFields fields={form.fields} />
          <button type="submit" class="plain" name="codes" value="later" id="later">
            {t(hasOnePasskey ? "factor.notNow" : replaced === "" ? "factor.withoutCodes" : "factor.keepCodes")}
          </button>
        </form>
      </div>
    </Layout>
  );
  return respondPage(page, { status: isRefused ? 400 : 200, formLeaves: authorization !== undefined });
}

/** Codes let a person without a password back in beside the proof of their mailbox. */
function isMailable({ context }: StepRequest, { claims }: User): boolean {
  return context.settings.mailProvider !== "off" && verifiedAddress(claims) !== undefined;
}

interface PageCodes extends RecoveryCodes {
  readonly user: User;
  readonly basis: Basis;
  readonly setId: string;
  /** The set that they replace. */
  readonly replaced: string;
  readonly hasOnePasskey: boolean;
}

/**
 * **The codes of this page**, until they are stored or the person's codes have changed otherwise: `undefined` then, so that going back does not show
 * stored ones. Cost: 1 D1 call; 1 object call for the session.
 */
async function pageCodes(at: StepRequest): Promise<PageCodes | undefined> {
  const { context, flow, browser } = at;
  const { newCodes } = flow.marks;
  const person = await at.person();
  if (person === undefined || newCodes === undefined || newCodes.sub !== person.user.sub) return undefined;
  const { user } = person;
  const { sub } = user;
  const { replaced, hasOnePasskey = false } = newCodes;
  if ((await findCodesSet(context.env.DB, sub)) !== replaced) return undefined;
  const codes = await makeRecoveryCodes(sub, (index) =>
    pageSecret(context.env, browser, { purpose: `recovery code ${index}`, id: flow.fid, of: sub }),
  );
  const setId = encodeBase64Url((await sha256(`recovery codes\n${sub}\n${flow.fid}`)).slice(0, 16));
  return { ...codes, user, basis: basisOf(person), setId, replaced, hasOnePasskey };
}

/**
 * **Stores the codes of the page**, in place of those from before, or another passkey, or leaves everything as it is. A repeated form changes
 * nothing. Cost: 1 D1 call, then 1 beside the calls that follow, and tell-person.ts.
 */
async function submitRecoveryCodes(at: StepRequest, form: Form): Promise<StepResult> {
  const { context } = at;
  const done = { kind: "done", marks: { newCodes: undefined } } as const;
  const credential = form.get("credential");
  if (credential !== undefined) {
    const isAdded = await addSecondPasskey(at, credential);
    return isAdded ? done : { kind: "again", problem: { kind: "refused", method: "passkey" } };
  }
  if (form.get("codes") !== "saved") return done;
  const made = await pageCodes(at);
  if (made === undefined) return done;
  const { setId, hashes, replaced, basis } = made;
  const { sub, claims } = made.user;
  const event = { action: "recovery_codes.made", target: setId, actor: sub };
  const write = async () => {
    const takesBack = { kind: "recovery_codes", id: setId } as const;
    const notice = { sub, claims, kind: "recovery-codes-made", evidence: event, takesBack } as const;
    const isSaved = await tellPerson(context, notice, async () => {
      const save = saveRecoveryCodes(context, { sub, setId, hashes, replaced });
      const statements = [save, recordAdminEvent(context, event, { ifChanged: true })];
      return writeAs(context, basis, statements);
    });
    if (isSaved) wakeAuditLog(context);
  };
  return { ...done, write };
}
