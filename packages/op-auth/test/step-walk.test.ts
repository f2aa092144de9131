/**
 * **Every step at every position of every kind of flow**, by its address and by a form with a valid token, as whoever holds the page's `f` can send
 * them. A step that writes is shown, and its form is accepted, where it is next; anywhere else it leads to where the flow is, and nothing is stored.
 */

import { formToken } from "@edge-op/pages/form-token";
import { invitationToken } from "@edge-op/shared/mail/sealed-links";
import { hashPassword } from "@edge-op/shared/secrets/password-hash";
import { savePassword } from "@edge-op/shared/users/credentials";
import { describe, expect, it } from "vitest";
import { seedClient, seedOrganizations } from "../../../test/fixtures/seed.ts";
import { setupKey } from "../src/factors/app-setup.tsx";
import { steps } from "../src/flow/steps.ts";
import type { PageRequest } from "../src/pages/frame.ts";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import { decidePerson } from "../src/session/signed-in-person.ts";
import { type OpenFlow, openFlow } from "../src/step/sealed-flow.ts";
import type { StepName } from "../src/step/step.ts";
import {
  authEnv,
  codeClient,
  contextOf,
  locationOf,
  password,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { AuthenticatorApp, codeOfKey, registerRecoveryCodes } from "./fixtures/authenticator-app.ts";
import { follow, MailedCodes, seedAddress } from "./fixtures/mailed-codes.ts";
import { StandInUpstream, seedUpstream, signInUpstream } from "./fixtures/stand-in-upstream.ts";

const { DB } = authEnv;
const mailed = new MailedCodes();
const { fixtures, browser } = useDeployment({}, mailed);

const typed = { username: "alice", password };
const secret = "purple monkey dishwasher 42";
const chosen = { new: secret, repeat: secret };
const code = { code: "00000000" };
const mfa = { claims: JSON.stringify({ id_token: { acr: { essential: true, values: ["mfa"] } } }) };

function enter(settings: Partial<Record<keyof AuthEnv, unknown>> = {}): void {
  mailed.restart({ ...authEnv, SIGN_UP: "open", ...settings } as AuthEnv);
  browser.restart(mailed.env);
}

const terms = { TERMS_URL: "https://example.com/terms", TERMS_VERSION: "2026-11" };
const begin = (parameters: Record<string, string> = {}) => browser.pageOf(parameters);
const account = async () => locationOf(await browser.get("/account"));
const signIn = async (page: Promise<string> = begin()) => follow(browser, await page, typed);
const signUp = async () => follow(browser, await begin(), { "sign-up": "1" });
const named = async () => follow(browser, await signUp(), { name: "Nina", address: "nina@example.com" });
const recover = async () => follow(browser, await begin(), { recover: "1" });
const asked = async (address = "alice@example.com") => follow(browser, await recover(), { address });
const recovered = async () => follow(browser, await asked(), { code: mailed.code });
const required = () => seedUpstream({ document: { domains: ["example.com"], discovery: "require" } });
const leaving = () => DB.prepare("UPDATE users SET deletes_at_ms = 9e15 WHERE sub = 'alice'").run();

async function linking(): Promise<string> {
  await seedUpstream();
  const believed = { email: "alice@example.com", email_verified: true };
  const upstream = new StandInUpstream({ claims: believed }).install();
  return locationOf(await signInUpstream(browser, await begin(), upstream));
}

async function invited(): Promise<string> {
  const insert =
    "INSERT INTO invitations VALUES ('i', 'nina@example.com', 'nina@example.com', '{}', 'console', 0, 9e15)";
  await DB.prepare(insert).run();
  const token = await invitationToken(authEnv, "i");
  return follow(browser, `/invitation?${new URLSearchParams({ token })}`, { token, name: "Nina" });
}

async function temporary(): Promise<string> {
  await savePassword(DB, "alice", await hashPassword("temporary secret"), 1, Date.now() + 86_400_000).run();
  return follow(browser, await begin(), { ...typed, password: "temporary secret" });
}

async function enrolled(): Promise<string> {
  const page = await signIn(begin(mfa));
  return follow(browser, page, await formOf("enrol", await opened(page)));
}

interface Position {
  readonly settings?: Partial<Record<keyof AuthEnv, unknown>>;
  readonly next: StepName;
  /** Somebody is signed in. Otherwise pages for who is lead to the begin of the flow. */
  readonly isSignedIn?: boolean;
  /** Whether it has opened a session: pages of other steps lead to a new flow. */
  readonly isOpened?: boolean;
  /** The path of its page. */
  arrive(): Promise<string>;
}

const positions: Readonly<Record<string, Position>> = {
  "nobody is known": { next: "sign-in", arrive: () => begin() },
  "nobody is known, to the account": { next: "sign-in", arrive: account },
  "an address is typed to sign up": { next: "sign-up", arrive: named },
  "an address is proven to sign up": {
    next: "create-account",
    arrive: async () => follow(browser, await named(), { code: mailed.code }),
  },
  "an invitation is accepted": { next: "create-account", arrive: invited },
  "a code for a forgotten password is mailed": { next: "sign-in", arrive: () => asked() },
  "the code for a forgotten password is right": { next: "set-password", arrive: recovered },
  "the same, of a person with an app": {
    next: "prove-more",
    arrive: async () => {
      await AuthenticatorApp.register("alice");
      return recovered();
    },
  },
  "the same, of a person who has lost the app, and may recover the account by mail alone": {
    settings: { RECOVERY: "address" },
    next: "await-recovery",
    arrive: async () => {
      await AuthenticatorApp.register("alice");
      return follow(browser, await recovered(), { lost: "all" });
    },
  },
  "the same, of a person who belongs to a provider": {
    next: "sign-in",
    arrive: async () => {
      await required();
      await seedAddress("alice", "alice@example.org");
      return follow(browser, await asked("alice@example.org"), { code: mailed.code });
    },
  },
  "a temporary password": { next: "set-password", arrive: temporary },
  "a password in a new browser": {
    settings: { NEW_BROWSER: "code" },
    next: "confirm-browser",
    arrive: () => signIn(),
  },
  "a password in a new browser, to the account": {
    settings: { NEW_BROWSER: "code" },
    next: "confirm-browser",
    arrive: () => signIn(account()),
  },
  "a password in a new browser, where two factors are needed": {
    settings: { NEW_BROWSER: "code", MFA: "required" },
    next: "confirm-browser",
    arrive: () => signIn(),
  },
  "the same, after its code": {
    settings: { NEW_BROWSER: "code", MFA: "required" },
    next: "enrol",
    arrive: async () => follow(browser, await signIn(), { code: mailed.code }),
  },
  "a password in a new browser, of a person who leaves": {
    settings: { NEW_BROWSER: "code" },
    next: "confirm-browser",
    arrive: async () => {
      await leaving();
      return signIn();
    },
  },
  "a password of a person who belongs to a provider": {
    next: "sign-in",
    arrive: async () => {
      await required();
      return signIn(begin(mfa));
    },
  },
  "a password of a person with an app": {
    next: "prove-more",
    arrive: async () => {
      await AuthenticatorApp.register("alice");
      return signIn();
    },
  },
  "a password, where the client needs two factors": { next: "enrol", arrive: () => signIn(begin(mfa)) },
  "a password to the account, where two factors are needed": {
    settings: { MFA: "required" },
    next: "enrol",
    arrive: () => signIn(account()),
  },
  "a session with a password, and a request that needs two factors": {
    isSignedIn: true,
    next: "enrol",
    arrive: async () => {
      await browser.signInWhole();
      return begin(mfa);
    },
  },
  "a session of a person with an app, and a request that needs two factors": {
    isSignedIn: true,
    next: "prove-more",
    arrive: async () => {
      await browser.signInWhole();
      await AuthenticatorApp.register("alice");
      return begin(mfa);
    },
  },
  "a person who leaves": {
    next: "restore",
    arrive: async () => {
      await leaving();
      return signIn();
    },
  },
  "a person who leaves, with an app": {
    next: "prove-more",
    arrive: async () => {
      await leaving();
      await AuthenticatorApp.register("alice");
      return signIn();
    },
  },
  "an identity that nobody has proven yet": { next: "sign-in", arrive: linking },
  "an identity of a person who has proven the account": { next: "link", arrive: () => signIn(linking()) },
  "an identity of a person with an app": {
    next: "prove-more",
    arrive: async () => {
      await AuthenticatorApp.register("alice");
      return signIn(linking());
    },
  },
  "a first app is set up": { next: "recovery-codes", isOpened: true, arrive: enrolled },
  "a recovery code is used": {
    next: "recovery-codes",
    isOpened: true,
    arrive: async () => {
      await AuthenticatorApp.register("alice");
      const [first = ""] = await registerRecoveryCodes("alice");
      return follow(browser, await signIn(), { code: first });
    },
  },
  "the client asks for consent": { next: "consent", isOpened: true, arrive: () => signIn() },
  "the same, and two factors are needed since": {
    next: "enrol",
    isOpened: true,
    arrive: async () => {
      const page = await signIn();
      browser.env = { ...mailed.env, MFA: "required" } as AuthEnv;
      return page;
    },
  },
  "a person who has agreed to no terms": { settings: terms, next: "terms", isOpened: true, arrive: () => signIn() },
  "the client requires an organisation, and the person has two": {
    next: "organization",
    isOpened: true,
    arrive: async () => {
      await seedOrganizations(authEnv, ["acme", "beta"], ["alice"]);
      await seedClient(authEnv, "corp", { ...codeClient, organization: "required" });
      return signIn(begin({ client_id: "corp" }));
    },
  },
  "an account is to be selected": {
    isSignedIn: true,
    next: "select-account",
    arrive: async () => {
      await browser.signInWhole();
      await DB.prepare("DELETE FROM consents").run();
      return begin({ prompt: "select_account" });
    },
  },
};

/** All that is stored about people, but their sessions and `searched`, which the sweep of the object writes at any time. */
const tables = [
  ...["users", "user_addresses", "user_passwords", "user_totp", "user_recovery_codes", "webauthn_credentials"],
  ...["user_identities", "user_roles", "user_groups", "consents", "invitations", "account_recoveries"],
];

async function stored(): Promise<string> {
  const results = await DB.batch(tables.map((table) => DB.prepare(`SELECT * FROM ${table}`)));
  return JSON.stringify(
    results.map((result) => result.results),
    (name, value) => (name === "searched" ? null : value),
  );
}

async function opened(page: string): Promise<OpenFlow & PageRequest & { readonly f: string }> {
  const f = new URLSearchParams(page.split("?")[1]).get("f")!;
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const request = { headers: new Headers({ cookie }) } as PageRequest["request"];
  const at = { context: contextOf(browser.env), isolate: fixtures.isolate, request };
  return { ...at, ...(await openFlow(at, f)), f };
}

/** The form of a step as its own page would send it, with which it writes if it is accepted. */
async function formOf(step: StepName, at: Awaited<ReturnType<typeof opened>>): Promise<Record<string, string>> {
  const { context, flow, browser: own } = at;
  const person = await decidePerson(at);
  const sub = flow.proofs[0]?.sub ?? person?.user.sub ?? "alice";
  const { isForPerson } = steps.find(({ name }) => name === step)!;
  const of = isForPerson ? (person?.user.sub ?? "") : "";
  const form_token = await formToken(context, `flow ${step} ${flow.fid} ${of}`, own.id);
  const enrolling = async () => {
    const key = await setupKey(context, { user: { sub, username: sub, claims: {} }, browser: own, id: flow.fid });
    return { code: await codeOfKey(key.text) };
  };
  const fields: Record<StepName, () => Promise<Record<string, string>>> = {
    "sign-up": async () => code,
    "create-account": async () => chosen,
    "sign-in": async () => ({ ...typed, password: "wrong" }),
    recover: async () => code,
    "await-recovery": async () => ({ ask: "1" }),
    "prove-more": async () => code,
    "confirm-browser": async () => code,
    "set-password": async () => chosen,
    restore: async () => ({ decision: "keep" }),
    enrol: enrolling,
    "recovery-codes": async () => ({ codes: "saved" }),
    link: async () => ({ decision: "connect" }),
    "select-account": async () => ({ account: "this" }),
    organization: async () => ({ organization: "acme" }),
    terms: async () => ({ decision: "agree", terms: String(browser.env.TERMS_VERSION) }),
    consent: async () => ({ decision: "allow" }),
  };
  return { form_token, ...(await fields[step]()) };
}

const pathOf = (page: string, step: StepName) => page.replace(/^\/flow\/[a-z-]+/, `/flow/${step}`);

async function post(page: string, fields: Readonly<Record<string, string>>): Promise<Response> {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return browser.once(page, { method: "POST", headers, body: new URLSearchParams(fields).toString() });
}

/** A page, the step that follows, or where the flow ends. */
function answerOf(response: Response): string {
  const location = response.headers.get("location");
  if (response.status === 303) return stepOf(location) ?? new URL(location!, "https://op.example.com").pathname;
  return [200, 400, 429].includes(response.status) ? "page" : String(response.status);
}

describe("a walk through all steps", () => {
  const written = new Set<string>();

  it.each(Object.entries(positions))(
    "%s",
    async (_, { settings, next, isOpened = false, isSignedIn = isOpened, arrive }) => {
      enter(settings);
      const page = await arrive();
      const at = await opened(page);
      const before = await stored();
      const answers: Record<string, readonly string[]> = {};
      const expected: Record<string, readonly string[]> = {};
      for (const step of steps) {
        const path = pathOf(page, step.name);
        const shown = answerOf(await browser.once(path));
        if (step.name === next) expect(shown).toBe("page");
        if (step.name === next && step.writes) continue;
        const cookies = [...browser.cookies];
        const posted = answerOf(await post(path, await formOf(step.name, at)));
        for (const [name, value] of cookies) browser.cookies.set(name, value);
        expect([step.name, await stored()]).toEqual([step.name, before]);
        if (!step.writes) continue;
        answers[step.name] = [shown, posted];
        const isClosed = step.isForPerson && !isSignedIn;
        expected[step.name] = isClosed ? ["restart", "restart"] : [isOpened ? "restart" : next, next];
      }
      expect(answers).toEqual(expected);
      if (!steps.some(({ name, writes }) => writes && name === next)) return;
      await post(pathOf(page, next), await formOf(next, at));
      expect(await stored()).not.toBe(before);
      written.add(next);
    },
  );

  it("in which each step that writes was next", () => {
    expect([...written].toSorted()).toEqual(
      steps
        .filter(({ writes }) => writes)
        .map(({ name }) => name as string)
        .toSorted(),
    );
  });
});
