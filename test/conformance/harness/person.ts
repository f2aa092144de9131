/**
 * **A person with a browser, as far as HTTP sees one**: keeps the provider's cookies, follows its redirects, fills in its forms by
 * their names, and stops where it is sent back to an application.
 */
export interface PersonBehaviour {
  readonly username: string;
  readonly password: string;
}

export interface Arrival {
  readonly kind: "arrival";
  /** Where the application is called. */
  readonly url: URL;
  /** What a form was posted there with (`response_mode=form_post`), else `undefined`. */
  readonly body: URLSearchParams | undefined;
  /** The pages that were shown on the way. */
  readonly pages: readonly string[];
}

/** A page of the provider's, which waits for the person. */
export interface Page {
  readonly kind: "page";
  /** `sign-in`, `consent`, …: the last segment of its path. */
  readonly name: string;
  readonly status: number;
  readonly html: string;
}

/** What a person says on a page, by its name, in place of what people usually say. */
export type Answers = Readonly<Record<string, Readonly<Record<string, string>>>>;

const stepsAtMost = 10;

export class Person {
  readonly #origin: string;
  readonly #behaviour: PersonBehaviour;
  readonly #fetch: typeof fetch;
  readonly #cookies = new Map<string, string>();

  /** `origin` is the provider as browsers see it. */
  constructor(origin: string, behaviour: PersonBehaviour, viaFetch: typeof fetch = fetch) {
    this.#origin = origin;
    this.#behaviour = behaviour;
    this.#fetch = viaFetch;
  }

  /** Sees a URL through to the application: signs in and allows when asked. */
  async visit(start: URL | string, answers: Answers = {}): Promise<Arrival> {
    const pages: string[] = [];
    let reached = await this.open(start);
    while (reached.kind === "page") {
      if (reached.status !== 200) throw new Error(`${reached.status} ${textOf(reached.html)}`);
      if (pages.length >= stepsAtMost) throw new Error(`no end of pages: ${pages.join(", ")}`);
      pages.push(reached.name);
      reached = await this.answer(reached, answers);
    }
    return { ...reached, pages };
  }

  /** Follows redirects to the next page, or to the application. */
  async open(start: URL | string, init: RequestInit = {}): Promise<Page | Arrival> {
    let url = new URL(start, this.#origin);
    let response = await this.send(url, init);
    for (let step = 0; step < stepsAtMost; step += 1) {
      const location = response.headers.get("location");
      if (location === null) return this.#read(url, response);
      url = new URL(location, this.#origin);
      if (url.origin !== this.#origin) return { kind: "arrival", url, body: undefined, pages: [] };
      response = await this.send(url);
    }
    throw new Error(`no end of redirects at ${url}`);
  }

  /** Follows redirects to a page; throws where there is none. */
  async openPage(start: URL | string, init: RequestInit = {}): Promise<Page> {
    const reached = await this.open(start, init);
    if (reached.kind === "arrival") throw new Error(`sent to the application: ${reached.url}`);
    return reached;
  }

  async #read(url: URL, response: Response): Promise<Page | Arrival> {
    const html = await response.text();
    const form = readForms(html).find(({ action }) => new URL(action, this.#origin).origin !== this.#origin);
    if (form !== undefined) {
      return { kind: "arrival", url: new URL(form.action), body: new URLSearchParams(form.hidden), pages: [] };
    }
    return { kind: "page", name: url.pathname.split("/").at(-1) ?? "", status: response.status, html };
  }

  /** One request with this person's cookies; redirects are not followed. */
  async send(url: URL | string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("cookie", [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    const response = await this.#fetch(url, { ...init, headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const [name = "", value = ""] = pair.split("=");
      if (line.includes("Max-Age=0")) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return response;
  }

  /** A person with the same cookies: a copy of the browser. */
  copy(): Person {
    const other = new Person(this.#origin, this.#behaviour, this.#fetch);
    for (const [name, value] of this.#cookies) other.#cookies.set(name, value);
    return other;
  }

  /** Fills in a page's form and sends it. */
  async answer({ name, html }: Page, answers: Answers = {}): Promise<Page | Arrival> {
    const form = readForms(html)[0];
    if (form === undefined) throw new Error(`a page without a form: ${textOf(html)}`);
    const usual: Answers = {
      "sign-in": { ...this.#behaviour },
      consent: { decision: "allow" },
      "select-account": { account: "current" },
      logout: { decision: "leave" },
    };
    const body = new URLSearchParams([...form.hidden, ...Object.entries(answers[name] ?? usual[name] ?? {})]);
    return this.open(form.action, { method: "POST", body });
  }
}

interface HtmlForm {
  readonly action: string;
  readonly hidden: readonly (readonly [string, string])[];
}

function readForms(html: string): HtmlForm[] {
  return [...html.matchAll(/<form[^>]* action="([^"]+)"[^>]*>(.*?)<\/form>/gs)].map(([, action = "", inner = ""]) => ({
    action: decodeEntities(action),
    hidden: [...inner.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
      ([, name = "", value = ""]) => [name, decodeEntities(value)] as const,
    ),
  }));
}

function decodeEntities(text: string): string {
  return text
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

/** What a page says, without its markup. */
export function textOf(html: string): string {
  return decodeEntities(html.replace(/<style.*?<\/style>/gs, " ").replace(/<[^>]+>/g, " "))
    .replace(/\s+/g, " ")
    .trim();
}
