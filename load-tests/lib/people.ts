/**
 * **What people do, and what must come of it**: sign in, sign up, recover, with a second factor. By class: the usual way, and those that must fail.
 * The same code runs in k6, when seeds are made, and in the tests, which need no k6.
 */

import type { Verdict } from "./judge.ts";
import type { Seed, SeedClient } from "./seed-file.ts";
import { totpCode } from "./totp-code.ts";
import { endWrong, hasForm, judged, type Reached, Visit, type Visitor } from "./visit.ts";

export interface Action {
  readonly visitor: Visitor;
  readonly client: SeedClient;
  readonly className: string;
  readonly seed: Seed;
  /** Tells this iteration from others. */
  readonly id: number;
}

/** A mail is sent by an alarm, after the response. */
const mailSeconds = 10;
const pollSeconds = 0.05;
/** In this time a mail that must not be sent would have arrived. */
const noMailSeconds = 0.5;

/** By password. */
export function signIn({ visitor, client, seed, id }: Action): Promise<Verdict> {
  return judged(async () => {
    const visit = new Visit(visitor, client, id);
    const { username = "", password = "" } = seed;
    const { claims } = await visit.redeem(await visit.submit(await visit.begin(), "password", { username, password }));
    if (claims["sub"] !== seed.sub) endWrong("claim_broken", "id_token is not of who signed in");
  });
}

/**
 * By password and a code of an app. `wrong_code`: a wrong one first, which must be refused. `replayed`: the code once more, in another browser, where
 * it must be refused (RFC 6238 §5.2).
 */
export function signInWithApp({ visitor, client, className, seed, id }: Action): Promise<Verdict> {
  return judged(async () => {
    const { username = "", password = "", appKey = "" } = seed;
    const toCode = async (visit: Visit): Promise<Reached> => {
      const page = await visit.submit(await visit.begin(), "password", { username, password });
      if (!hasForm(page, "code")) endWrong("false_positive", "a password alone signed in a person with an app");
      return page;
    };
    const visit = new Visit(visitor, client, id);
    const page = await toCode(visit);
    const code = await totpCode(appKey, Date.now());
    const ready = className === "wrong_code" ? await visit.refuse(page, changed(code), "a wrong code of an app") : page;
    const { claims } = await visit.redeem(await visit.submit(ready, "code", { code }));
    if (claims["sub"] !== seed.sub) endWrong("claim_broken", "id_token is not of who signed in");
    if (claims["acr"] !== "mfa") endWrong("claim_broken", `acr is ${String(claims["acr"])}, not mfa`);
    if (className !== "replayed") return;
    visitor.forget();
    const thief = new Visit(visitor, client, id);
    await thief.refuse(await toCode(thief), code, "a used code of an app");
  });
}

/** `wrong_code`: a wrong code first. `taken`: the address has an account, so even the right code makes none. */
export function signUp({ visitor, client, className, seed, id }: Action): Promise<Verdict> {
  return judged(async () => {
    const { address = "", password = "" } = seed;
    const visit = new Visit(visitor, client, id);
    const start = await visit.submit(await visit.begin(), "sign-up", { "sign-up": "1" });
    const page = await visit.submit(start, "address", { name: "Load Person", address });
    const code = await mailedCode(visitor, address);
    const ready = className === "wrong_code" ? await visit.refuse(page, changed(code), "a wrong mailed code") : page;
    const proven = await visit.submit(ready, "code", { code });
    if (className === "taken") {
      if (hasForm(proven, "new")) endWrong("false_positive", "an address with an account gets another one");
      return;
    }
    const { accessToken } = await visit.redeem(await visit.submit(proven, "new", { new: password, repeat: password }));
    const { body = {} } = await visitor.userinfo(accessToken);
    if (body["email"] !== address || body["email_verified"] !== true)
      endWrong("claim_broken", "the account does not have the address that was proven");
  });
}

/** `wrong_code`: a wrong code first. `unknown`: nobody has the address, so the pages are the same, no mail is sent and no code is right. */
export function recover({ visitor, client, className, seed, id }: Action): Promise<Verdict> {
  return judged(async () => {
    const { address = "", password = "" } = seed;
    const visit = new Visit(visitor, client, id);
    const start = await visit.submit(await visit.begin(), "recover", { recover: "1" });
    const page = await visit.submit(start, "address", { address });
    if (className === "unknown") {
      await visit.refuse(page, "00000000", "a code for an address that nobody has");
      await visitor.wait(noMailSeconds);
      if (codeIn(await visitor.mailbox(address)) !== undefined)
        endWrong("false_positive", "an address that nobody has got a code");
      return;
    }
    const code = await mailedCode(visitor, address);
    const ready = className === "wrong_code" ? await visit.refuse(page, changed(code), "a wrong mailed code") : page;
    const proven = await visit.submit(ready, "code", { code });
    const { claims } = await visit.redeem(await visit.submit(proven, "new", { new: password, repeat: password }));
    if (claims["sub"] !== seed.sub) endWrong("claim_broken", "id_token is not of whose address it is");
  });
}

async function mailedCode(visitor: Visitor, address: string): Promise<string> {
  const untilMs = Date.now() + mailSeconds * 1000;
  while (Date.now() < untilMs) {
    const code = codeIn(await visitor.mailbox(address));
    if (code !== undefined) return code;
    await visitor.wait(pollSeconds);
  }
  return endWrong("false_negative", `no code was mailed in ${mailSeconds} s`);
}

function codeIn(mailbox: string): string | undefined {
  const [, first, second] = /\b(\d{4}) (\d{4})\b/.exec(mailbox) ?? [];
  return first === undefined ? undefined : `${first}${second}`;
}

/** Another code of the same length. */
function changed(code: string): string {
  return String((Number(code) + 1) % 10 ** code.length).padStart(code.length, "0");
}
