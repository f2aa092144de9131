import { passkeyMethods } from "@edge-op/protocol/oauth/authentication-context";
import { describeDevice } from "@edge-op/shared/http/asker";
import type { Form } from "@edge-op/shared/http/read-form";
import { hashPassword } from "@edge-op/shared/secrets/password-hash";
import { laneOf } from "@edge-op/shared/sessions/attempts";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import { savePasskey, savePassword } from "@edge-op/shared/users/credentials";
import { verifyNewPasskey } from "../factors/register-passkey.ts";
import { passkeyWayIn } from "../factors/verify-passkey-sign-in.ts";
import { checkNewPassword } from "../passwords/replace-password.ts";
import { passwordWayIn } from "../passwords/verify-password-sign-in.ts";
import { readDeployment } from "../runtime/deployment.ts";
import { rememberBrowser, type WayIn } from "../session/known-browser.ts";
import { reserveAttempt } from "../session/sign-in-limits.ts";
import { type ProvenNewcomer, provenNewcomerOf } from "../step/flow.ts";
import type { Step, StepInput, StepRequest, StepResult, StepState } from "../step/step.ts";
import { stepFrame } from "../step/step-request.ts";
import { showCreateAccount } from "./create-account-page.tsx";
import { insertPerson } from "./insert-person.ts";
import { signUpMethods } from "./methods.ts";
import { isIdentifierTaken, mayCreate, taken } from "./sign-up-rule.tsx";

/** **The end of signing up**: a person who has proven their address chooses how to sign in, and gets an account by it. */
export const createAccountStep: Step = {
  name: "create-account",
  methods: ["password", ...passkeyMethods, "mailedCode"],
  isForPerson: false,
  writes: true,
  state: createAccountState,
  page: showCreateAccount,
  submit: submitCreateAccount,
};

/** **Whether a person with a proven address has no account yet.** */
function createAccountState({ flow }: StepInput): StepState {
  return provenNewcomerOf(flow) === undefined ? { kind: "done" } : { kind: "needed", error: "login_required" };
}

/** Each costs a password hash. */
const attemptLanes = laneOf({ capacity: 10, drainMs: 60_000 });

/** The credential of a newcomer, which proves that they are present. */
interface Chosen {
  readonly method: "passkey" | "password";
  readonly statement: D1PreparedStatement;
  readonly proof: Pick<Proof, "method" | "credential">;
  readonly wayIn: WayIn;
}

/**
 * **The chosen way to sign in, with which the account comes into being**: one transaction inserts the person with their address and credential. Cost:
 * 1 object call and 1 D1 call in parallel; for a password its hash; then 1 D1 call.
 */
async function submitCreateAccount(at: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("cancel") !== undefined) return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  const { context, isolate, request, flow, browser, policy } = at;
  const newcomer = provenNewcomerOf(flow);
  if (newcomer === undefined) return { kind: "go to", step: "sign-in" };
  if (!mayCreate(context, newcomer)) return refused("closed");
  const terms = readDeployment(context.env).terms?.version;
  if (terms !== undefined && form.get("terms") !== terms) return refused("terms");
  const method = form.get("credential") === undefined ? "password" : "passkey";
  if (!signUpMethods(context, policy)[method]) return refused(method === "passkey" ? "passkey" : "closed");
  const user = { username: newcomer.address.address, claims: {} };
  const fault = method === "password" ? await checkNewPassword(context, user, form, { isShown: true }) : undefined;
  if (fault !== undefined) return refused(fault.kind);
  // As in a sign-in: a change after this version ends the session (ADR 28).
  await isolate.revocation.confirmControl(context);
  const controlVersion = isolate.control.version ?? 0;
  const bucket = { name: "account", subject: `sign-up ${newcomer.sub}`, lanes: attemptLanes } as const;
  const [attempt, isTaken] = await Promise.all([
    reserveAttempt(context, isolate, [bucket], method),
    isIdentifierTaken(context.env.DB, newcomer.address.key, context.arrivedAtMs),
    at.person(),
  ]);
  if (attempt.retryAfterSeconds !== undefined) {
    const untilMs = context.arrivedAtMs + attempt.retryAfterSeconds * 1000;
    return { kind: "again", problem: { kind: "throttled", untilMs } };
  }
  if (isTaken) return taken;
  const chosen =
    method === "password"
      ? await passwordOf(at, newcomer, form)
      : await passkeyOf(at, newcomer, form.require("credential"));
  if (chosen === undefined) return refused("passkey");
  const { language: locale } = (await stepFrame(at)).t;
  const isInserted = await insertPerson(context, newcomer, { method, credential: chosen.statement, locale, terms });
  if (!isInserted) return taken;
  const { sub, address } = newcomer;
  const proven = { sub, atMs: context.arrivedAtMs, controlVersion };
  return {
    kind: "done",
    // The mailbox was proven in this flow, so a new browser needs no code of it again.
    proofs: [
      { ...chosen.proof, ...proven },
      { method: "mailedCode", credential: address.key, ...proven },
    ],
    marks: {
      newcomer: undefined,
      ...(method === "passkey" ? { newCodes: { sub, replaced: "", hasOnePasskey: true } } : {}),
    },
    allowed: [],
    factors: {
      totp: false,
      recoveryCodes: false,
      passkeys: method === "passkey",
      password: method === "password",
      providers: [],
      epoch: 0,
      terms,
    },
    cookies: [await rememberBrowser(context, request, browser, chosen.wayIn)],
  };
}

function refused(method: string): StepResult {
  return { kind: "again", problem: { kind: "refused", method } };
}

async function passwordOf({ context }: StepRequest, { sub, address }: ProvenNewcomer, form: Form): Promise<Chosen> {
  const hash = await hashPassword(form.require("new"));
  return {
    method: "password",
    statement: savePassword(context.env.DB, sub, hash, context.arrivedAtMs),
    proof: { method: "password" },
    wayIn: passwordWayIn(address.address),
  };
}

/** The ceremony is the flow: its challenge covers `fid`, so it cannot be used in another one. */
async function passkeyOf(
  { context, request, flow }: StepRequest,
  { sub }: ProvenNewcomer,
  response: string,
): Promise<Chosen | undefined> {
  const name = describeDevice(request.headers.get("user-agent"));
  const created = await verifyNewPasskey(context, sub, flow.fid, { response, name });
  if (created === undefined) return undefined;
  const { passkey, isBound } = created;
  const { credentialId } = passkey;
  return {
    method: "passkey",
    // It signs in now, so a later sign-in by it is not the first.
    statement: savePasskey(context.env.DB, { ...passkey, lastUsedAtMs: context.arrivedAtMs }),
    proof: { method: isBound ? "boundPasskey" : "syncedPasskey", credential: credentialId },
    wayIn: passkeyWayIn(credentialId),
  };
}
