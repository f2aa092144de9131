import { setTimeout as sleep } from "node:timers/promises";
import type { ApiResponse } from "../../packages/edge-op/src/provider-api.ts";
import type { Page, Person } from "../../packages/edge-op/testing/person.ts";
import { Application } from "../conformance/fixtures/application.ts";
import { api, claimsOf } from "../conformance/fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "../conformance/fixtures/register-person.ts";
import { shardOf } from "./object-names.ts";
import type { End } from "./operations.ts";
import type { Stage } from "./stage.ts";

/** How long a session's token is checked before the session ends. */
const liveMs = 700;

/**
 * **Sessions under load**: people sign in, and sign out again, in their browser, in another one, or from one application. The token of the sign-in
 * has ended when the response arrives; after a 503, the request is repeated with the same browser, as a person would.
 */
export class SignIns {
  readonly #stage: Stage;
  #cast: Promise<Cast> | undefined;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async signOut(end: End): Promise<boolean> {
    const { person } = await this.#prepare();
    const browser = person.browser();
    const signedIn = await this.#signIn(browser, "signed out");
    if (signedIn === undefined) return false;
    const url = this.#stage.application.logoutUrl({ id_token_hint: signedIn.idToken });
    await end("sign-out", [signedIn.subject], async () => responseOf(await browser.openPage(url)));
    return true;
  }

  async endSession(end: End): Promise<boolean> {
    const { person, account } = await this.#prepare();
    const signedIn = await this.#signIn(person.browser(), "session ended");
    if (signedIn === undefined) return false;
    const sid = String(claimsOf(signedIn.idToken)["sid"]);
    await end("end of a session", [signedIn.subject], () => confirmAt(account, `/account/sessions/end?sid=${sid}`));
    return true;
  }

  async withdrawConsent(end: End): Promise<boolean> {
    const { account, consented } = await this.#prepare();
    const signedIn = await this.#signIn(account, "consent withdrawn", consented);
    if (signedIn === undefined) return false;
    const path = `/account/consents/remove?client_id=${consented.client.client_id}`;
    await end("withdrawal of a consent", [signedIn.subject], () => confirmAt(account, path));
    return true;
  }

  /** The token of a new grant is checked from now on. */
  async #signIn(browser: Person, fate: string, application = this.#stage.application) {
    const response = await this.#stage.signIn(browser, "openid", application);
    if (response === undefined) return undefined;
    const token = String(response.body["access_token"]);
    const subject = this.#stage.check({ kind: "introspection", token }, fate, [shardOf(token)]);
    await sleep(liveMs);
    return { subject, idToken: String(response.body["id_token"]) };
  }

  #prepare(): Promise<Cast> {
    this.#cast ??= prepare(this.#stage);
    return this.#cast;
  }
}

interface Cast {
  readonly person: RegisteredPerson;
  /** The person's browser at the account page; it stays signed in. */
  readonly account: Person;
  /** An application that requires consent. */
  readonly consented: Application;
}

async function prepare({ fixtures }: Stage): Promise<Cast> {
  const person = await registerPerson(fixtures);
  const consented = await Application.register(fixtures, { audiences: [api] });
  return { person, account: person.browser(), consented };
}

/** Confirms on a page of the account; if it redirects to the account page, nothing is left to confirm. */
async function confirmAt(browser: Person, path: string): Promise<ApiResponse> {
  let page = await browser.openPage(path);
  if (page.status === 200 && page.name === "sign-in") page = (await browser.submit(page)) as Page;
  const isQuestion = page.status === 200 && path.includes(`/${page.name}?`);
  return responseOf(isQuestion ? ((await browser.submit(page)) as Page) : page);
}

function responseOf({ status, html }: Page): ApiResponse {
  return { status, headers: new Headers(), body: {}, text: html };
}
