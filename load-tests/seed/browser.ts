import { createHash, randomBytes } from "node:crypto";
import { findForm } from "../lib/sign-in-form.ts";
import { redirectUri } from "./provision.ts";

export interface BrowserOptions {
  /** The origin in the pages' URLs; differs from `origin` if one Worker is called on its own socket. */
  readonly issuer?: string;
  readonly cookieHeader?: string;
  /** Called with each response, for its headers. */
  readonly onResponse?: (response: Response) => void;
}

/** **The parts of a browser that a sign-in needs**: cookies, redirects, one form. */
export class Browser {
  readonly #origin: string;
  readonly #issuer: string;
  readonly #cookies = new Map<string, string>();

  readonly #onResponse: (response: Response) => void;

  constructor(origin: string, options: BrowserOptions = {}) {
    const { issuer = origin, cookieHeader = "", onResponse = () => undefined } = options;
    this.#origin = origin;
    this.#issuer = issuer;
    this.#onResponse = onResponse;
    for (const cookie of cookieHeader.split("; ").filter((each) => each !== "")) {
      const [name = "", ...value] = cookie.split("=");
      this.#cookies.set(name, value.join("="));
    }
  }

  get cookieHeader(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  /** One request, with a form or without; redirects are not followed. */
  async send(url: string, form?: URLSearchParams): Promise<Response> {
    const headers: Record<string, string> = { cookie: this.cookieHeader };
    if (form !== undefined) headers.origin = this.#issuer;
    const { pathname, search } = new URL(url, this.#issuer);
    const response = await fetch(this.#origin + pathname + search, {
      method: form === undefined ? "GET" : "POST",
      headers,
      redirect: "manual",
      ...(form === undefined ? {} : { body: form }),
    });
    this.#onResponse(response);
    for (const cookie of response.headers.getSetCookie()) {
      const [name = "", ...value] = cookie.split(";", 1)[0]!.split("=");
      this.#cookies.set(name, value.join("="));
    }
    return response;
  }

  /** Follows redirects to a page, or to the application's callback. */
  async #follow(response: Response): Promise<{ readonly page?: string; readonly callback?: URL }> {
    let current = response;
    for (let hop = 0; hop < 8; hop++) {
      const location = current.headers.get("location");
      if (location === null) return { page: await current.text() };
      await current.arrayBuffer();
      if (location.startsWith(redirectUri)) return { callback: new URL(location) };
      current = await this.send(location);
    }
    throw new Error("more than 8 redirects in a row");
  }

  /** Signs in if required; returns the code that the application receives, and its verifier. */
  async authorize(
    clientId: string,
    scope: string,
    prompt: "none" | undefined,
    who?: { username: string; password: string },
  ) {
    const verifier = randomBytes(32).toString("base64url");
    const query = new URLSearchParams({
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUri,
      scope,
      state: "seed",
      nonce: randomBytes(8).toString("hex"),
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
      ...(prompt === undefined ? {} : { prompt }),
    });
    let reached = await this.#follow(await this.send(`/authorize?${query}`));
    if (reached.page !== undefined && who !== undefined) {
      const form = findForm(reached.page, "password");
      if (form === undefined) throw new Error("the sign-in page has no password form");
      reached = await this.#follow(await this.send(form.action, new URLSearchParams({ ...form.fields, ...who })));
    }
    const code = reached.callback?.searchParams.get("code");
    if (code === null || code === undefined) {
      const error = reached.callback?.searchParams.get("error");
      throw new Error(`authorize gave no code: ${error ?? `a page: ${reached.page?.slice(0, 300)}`}`);
    }
    return { code, verifier };
  }
}
