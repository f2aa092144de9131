import { type Browser, identifyBrowser } from "@edge-op/pages/cookies";
import { formToken } from "@edge-op/pages/form-token";
import { Layout } from "@edge-op/pages/layout";
import { displayName, Person } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { isFlag, isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import type { Form } from "@edge-op/shared/http/read-form";
import { openSealed, sealText } from "@edge-op/shared/secrets/seal";
import { findFactors } from "@edge-op/shared/users/factors";
import { type EmailAddress, parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import { AddressForm, CodePage, type CodeProblem, CodeProblemNote, respondingTo } from "../addresses/code-page.tsx";
import { type RequestedCode, requestCode, tryCode } from "../addresses/mailed-code.ts";
import { frameOf, type PageRequest } from "../pages/frame.ts";
import type { SignedInPerson } from "../session/signed-in-person.ts";
import type { MailedCode } from "../step/flow.ts";
import { accountWith } from "./account-notices.ts";
import { addAddress, commitAddress } from "./commit-address.ts";
import { mayChangeFactors, signInAtLevel } from "./factor-level.ts";
import { accountForms, asPerson, asPersonPosting } from "./require-person.ts";

const path = "/account/address";

/** A code that was requested on this page, sealed in it for the browser and the person. */
interface CodeState {
  readonly id: string;
  readonly mailed: MailedCode;
  /** The address is a further one, and replaces none. */
  readonly isFurther: boolean;
}

const isCodeState = objectOf<CodeState>({
  id: isText,
  isFurther: isFlag,
  mailed: objectOf<MailedCode>({
    purpose: isText,
    address: isText,
    sentAtMs: (value) => typeof value === "number",
    attempts: isText,
  }),
});

/**
 * **The page for another address**, or for the confirmation of the present one, soon after a sign-in at the level of the account. Cost: 1 object
 * call, 1 D1 call.
 */
export function showChangeAddress(at: PageRequest): Promise<Response> {
  const isFurther = new URL(at.request.url).searchParams.has("further");
  const own = isFurther ? `${path}?further=1` : path;
  return asPerson(
    at,
    async (person) => (await requireAddressLevel(at, person, own)) ?? renderAddress(at, person, { isFurther }),
  );
}

/**
 * **A posted address, or the code that was mailed to it.** The address changes only with the code, so a mistyped one changes nothing. That an address
 * belongs to somebody else is told only to its mailbox. Cost: 1 object call, 1 D1 call after it, 1 object call after these; for the right code those
 * of commit-address.ts.
 */
export function changeAddress(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    const elsewhere = await requireAddressLevel(at, person);
    if (elsewhere !== undefined) return elsewhere;
    const { context, request } = at;
    const browser = await identifyBrowser(context, request);
    const state = await openState(at, person, browser, form.get("state"));
    if (state === undefined || form.get("other") !== undefined) return startWith(at, person, browser, form);
    const { id, mailed, isFurther } = state;
    if (form.get("again") !== undefined) return sendAnother(at, person, browser, state);
    const attempt = await tryCode(at, { browser, id }, mailed, form.get("code") ?? "");
    if (attempt.kind !== "right") return renderCode(at, person, browser, state, { kind: attempt.kind });
    const commit = isFurther ? addAddress : commitAddress;
    const isDone = await commit(context, person, attempt.address);
    const [done, failed] = isFurther
      ? (["address-added", "address-not-added"] as const)
      : (["address-changed", "address-not-changed"] as const);
    return accountWith(context, isDone ? done : failed, { cookies: [attempt.cookie] });
  });
}

/** Redirects to a sign-in at the level of the account; to the account page where no mail is sent. */
export async function requireAddressLevel(
  at: PageRequest,
  person: SignedInPerson,
  returnTo = path,
): Promise<Response | undefined> {
  const factors = await findFactors(at.context.env.DB, person.user.sub);
  if (factors === undefined || at.context.settings.mailProvider === "off") return redirect("/account");
  return mayChangeFactors(at, person, factors) ? undefined : signInAtLevel(at, returnTo, factors);
}

function startWith(at: PageRequest, person: SignedInPerson, browser: Browser, form: Form): Promise<Response> {
  const typed = form.get("address");
  const isFurther = form.get("further") !== undefined;
  if (typed === undefined) return renderAddress(at, person, { isFurther });
  return sendTo(at, person, browser, { id: randomBase64Url(16), typed, isFurther });
}

async function sendTo(
  at: PageRequest,
  person: SignedInPerson,
  browser: Browser,
  { id, typed, isFurther }: Pick<CodeState, "id" | "isFurther"> & { readonly typed: string },
): Promise<Response> {
  const address = parseEmailAddress(typed);
  if (address === undefined) {
    return renderAddress(at, person, { isFurther, problem: { kind: "invalidAddress" }, typed: typed.slice(0, 254) });
  }
  const requested = await requestFor(at, person, browser, { id, address });
  if (requested.kind === "throttled") {
    return renderAddress(at, person, { isFurther, problem: requested, typed: address.address });
  }
  return renderCode(at, person, browser, { id, mailed: requested.mailed, isFurther }, undefined);
}

async function sendAnother(
  at: PageRequest,
  person: SignedInPerson,
  browser: Browser,
  state: CodeState,
): Promise<Response> {
  const { id, mailed: previous } = state;
  const address = parseEmailAddress(previous.address);
  if (address === undefined) return renderCode(at, person, browser, state, { kind: "expired" });
  const requested = await requestFor(at, person, browser, { id, address, previous });
  // The code before it stays valid.
  if (requested.kind === "throttled") return renderCode(at, person, browser, state, requested);
  return renderCode(at, person, browser, { ...state, mailed: requested.mailed }, undefined);
}

async function requestFor(
  at: PageRequest,
  { user: { sub } }: SignedInPerson,
  browser: Browser,
  { id, ...code }: { readonly id: string; readonly address: EmailAddress; readonly previous?: MailedCode },
): Promise<RequestedCode> {
  const { language } = (await frameOf(at.context, at.request)).t;
  return requestCode(at, { browser, id }, { purpose: "address", language, sub, ...code });
}

function boundTo(browser: Browser, { user }: SignedInPerson): string {
  return `code for an address\n${browser.id}\n${user.sub}`;
}

async function openState(
  { context }: PageRequest,
  person: SignedInPerson,
  browser: Browser,
  sealed: string | undefined,
): Promise<CodeState | undefined> {
  const text = sealed && (await openSealed(context.env, "flow-seal", sealed, boundTo(browser, person)));
  return text ? readStored("code for an address", text, isCodeState) : undefined;
}

async function renderCode(
  at: PageRequest,
  person: SignedInPerson,
  browser: Browser,
  code: CodeState,
  problem: CodeProblem,
): Promise<Response> {
  const { context, request } = at;
  const state = await sealText(context.env, "flow-seal", JSON.stringify(code), { bound: boundTo(browser, person) });
  const fields = { form_token: await formToken(context, accountForms, person.sessionId), state };
  const { mailed, isFurther } = code;
  const view = {
    ...{ form: { action: path, fields }, mailed, problem, canCancel: false, isOfAccount: true },
    nowMs: context.arrivedAtMs,
    restart: isFurther ? `${path}?further=1` : path,
  };
  const page = <CodePage frame={await frameOf(context, request)} view={view} />;
  return respondPage(page, { ...respondingTo(problem), cookies: [browser.setCookie] });
}

async function renderAddress(
  { context, request }: PageRequest,
  { user, sessionId }: SignedInPerson,
  {
    isFurther,
    problem,
    typed,
  }: { readonly isFurther: boolean; readonly problem?: CodeProblem; readonly typed?: string },
): Promise<Response> {
  const frame = await frameOf(context, request);
  const { t } = frame;
  const token = { form_token: await formToken(context, accountForms, sessionId) };
  const fields = isFurther ? { ...token, further: "1" } : token;
  const unverified = user.claims.email_verified === true ? undefined : user.claims.email;
  const name = displayName(user);
  const page = (
    <Layout {...frame} title={t("address.title")} account>
      <div class="head">
        <h1>{t("address.title")}</h1>
        <Person name={name} text={t("account.signedInAs", { user: name })} />
        <p class="muted small">{isFurther ? frame.t("addresses.addText") : t("address.text")}</p>
      </div>
      <CodeProblemNote frame={frame} problem={problem} />
      <AddressForm
        frame={frame}
        form={{ action: path, fields }}
        address={typed ?? unverified}
        isInvalid={problem?.kind === "invalidAddress"}
      />
      <div class="actions">
        <a class="button quiet" href="/account" id="cancel">
          {t("flow.cancel")}
        </a>
      </div>
    </Layout>
  );
  return respondPage(page, respondingTo(problem));
}
