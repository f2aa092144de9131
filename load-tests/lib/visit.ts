import { type Answer, isUnavailable, judgeCode, queryValue, type Verdict, type WrongHow, wrong } from "./judge.ts";
import type { SeedClient } from "./seed-file.ts";
import { findForm } from "./sign-in-form.ts";

type Later<T> = T | Promise<T>;

/** **What a person's browser and an application do**, in k6 and in Node. */
export interface Visitor {
  page(
    method: "GET" | "POST",
    path: string,
    form: Record<string, string> | null,
    name: string,
  ): Later<{ readonly answer: Answer; readonly html: string }>;
  post(path: string, client: SeedClient, form: Record<string, string>): Later<Answer>;
  userinfo(token: string): Later<Answer>;
  /** The page with the mails to an address, the newest first. */
  mailbox(address: string): Later<string>;
  newPkce(): { readonly verifier: string; readonly challenge: string };
  readClaims(token: string): Readonly<Record<string, unknown>> | undefined;
  wait(seconds: number): Later<void>;
  /** Deletes the cookies. */
  forget(): void;
}

/** A page, or the redirect to the application. */
export interface Reached {
  readonly answer: Answer;
  readonly html: string;
}

/** The tokens that the application has received. */
export interface Tokens {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly accessToken: string;
}

const mostRedirects = 6;

/** Ends an iteration with its verdict. */
class Ended extends Error {
  readonly verdict: Verdict;

  constructor(verdict: Verdict) {
    super(verdict.kind === "wrong" ? verdict.why : verdict.kind);
    this.verdict = verdict;
  }
}

export function endWrong(how: WrongHow, why: string): never {
  throw new Ended(wrong(how, why));
}

/** The verdict of an iteration; one that ends by itself was right. */
export async function judged(act: () => Promise<void>): Promise<Verdict> {
  try {
    await act();
    return { kind: "right" };
  } catch (error) {
    if (error instanceof Ended) return error.verdict;
    throw error;
  }
}

export function hasForm({ html }: Reached, inputName: string): boolean {
  return findForm(html, inputName) !== undefined;
}

/**
 * **One authorization of a person**, from the application's request to its tokens. Each method ends the iteration if a response is missing or wrong.
 */
export class Visit {
  readonly #visitor: Visitor;
  readonly #client: SeedClient;
  readonly #redirectUri: string;
  readonly #state: string;
  readonly #nonce: string;
  readonly #pkce: ReturnType<Visitor["newPkce"]>;

  /** `id` tells this iteration from others. */
  constructor(visitor: Visitor, client: SeedClient, id: number) {
    this.#visitor = visitor;
    this.#client = client;
    this.#redirectUri = client.redirect_uri ?? "";
    this.#state = `s${id}`;
    this.#nonce = `n${id}`;
    this.#pkce = visitor.newPkce();
  }

  /** To the sign-in page. */
  async begin(): Promise<Reached> {
    const parameters: Readonly<Record<string, string>> = {
      response_type: "code",
      client_id: this.#client.client_id,
      redirect_uri: this.#redirectUri,
      scope: "openid profile email",
      state: this.#state,
      nonce: this.#nonce,
      code_challenge: this.#pkce.challenge,
      code_challenge_method: "S256",
    };
    const query = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    return this.#follow(await this.#visitor.page("GET", `/authorize?${query.join("&")}`, null, "/authorize"));
  }

  /** A page of the provider. */
  async open(path: string): Promise<Reached> {
    return this.#follow(await this.#visitor.page("GET", path, null, "page"));
  }

  /** Submits the form that has this input or button; its name is the one of the measured request. */
  async submit(page: Reached, inputName: string, fields: Readonly<Record<string, string>>): Promise<Reached> {
    const form = findForm(page.html, inputName);
    if (form === undefined)
      endWrong("false_negative", `the page (${page.answer.status}) has no form with ${inputName}`);
    return this.#follow(
      await this.#visitor.page("POST", form.action, { ...form.fields, ...fields }, `form ${inputName}`),
    );
  }

  /** A code that must not be accepted; returns the page that says so. */
  async refuse(page: Reached, code: string, why: string): Promise<Reached> {
    const again = await this.submit(page, "code", { code });
    if (again.answer.status !== 400 || !hasForm(again, "code")) endWrong("false_positive", `${why} was accepted`);
    return again;
  }

  /** Redeems the code of the redirect to the application. */
  async redeem({ answer }: Reached): Promise<Tokens> {
    const verdict = judgeCode(this.#redirectUri, this.#state, answer);
    if (verdict.kind !== "right") throw new Ended(verdict);
    const tokens = await this.#visitor.post("/token", this.#client, {
      grant_type: "authorization_code",
      code: queryValue(answer.location ?? "", "code") ?? "",
      redirect_uri: this.#redirectUri,
      code_verifier: this.#pkce.verifier,
    });
    if (isUnavailable(tokens)) throw new Ended({ kind: "unavailable" });
    if (tokens.status !== 200) endWrong("false_negative", `the code was refused: ${tokens.status}`);
    const claims = this.#visitor.readClaims(String(tokens.body?.["id_token"])) ?? {};
    if (claims["nonce"] !== this.#nonce) endWrong("claim_broken", "nonce is not what was sent");
    return { claims, accessToken: String(tokens.body?.["access_token"]) };
  }

  async #follow(first: Reached): Promise<Reached> {
    let current = first;
    for (let hop = 0; hop < mostRedirects; hop++) {
      const { location } = current.answer;
      if (location === undefined || location.startsWith(`${this.#redirectUri}?`)) break;
      current = await this.#visitor.page("GET", location, null, "page");
    }
    if (isUnavailable(current.answer)) throw new Ended({ kind: "unavailable" });
    return current;
  }
}
