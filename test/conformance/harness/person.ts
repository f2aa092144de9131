/**
 * **A person with a browser, as far as HTTP sees one**: keeps the provider's cookies, follows its redirects, fills in its forms by
 * their names, and stops where it is sent back to an application.
 */
export interface PersonBehaviour {
  readonly username: string;
  readonly password: string;
}

export interface Arrival {
  /** Where the application is called. */
  readonly url: URL;
  /** What a form was posted there with (`response_mode=form_post`), else `undefined`. */
  readonly body: URLSearchParams | undefined;
  /** The pages that were shown on the way. */
  readonly pages: readonly string[];
}

const pagesAtMost = 10;

export class Person {
  readonly #origin: string;
  readonly #behaviour: PersonBehaviour;
  readonly #cookies = new Map<string, string>();

  constructor(origin: string, behaviour: PersonBehaviour) {
    this.#origin = origin;
    this.#behaviour = behaviour;
  }

  /** Sees a URL through to the application: signs in and allows when asked. */
  async visit(start: URL | string): Promise<Arrival> {
    const pages: string[] = [];
    let response = await this.send(start);
    for (let step = 0; step < pagesAtMost; step += 1) {
      const location = response.headers.get("location");
      if (location !== null) {
        const next = new URL(location, this.#origin);
        if (next.origin !== this.#origin) return { url: next, body: undefined, pages };
        response = await this.send(next);
        continue;
      }
      const html = await response.text();
      const form = readForms(html).find(({ action }) => new URL(action, this.#origin).origin !== this.#origin);
      if (form !== undefined) return { url: new URL(form.action), body: new URLSearchParams(form.hidden), pages };
      if (response.status !== 200) throw new Error(`${response.status} ${textOf(html)}`);
      pages.push(pageName(response.url));
      response = await this.#answer(response.url, html);
    }
    throw new Error(`no end of pages: ${pages.join(", ")}`);
  }

  /** One request with this person's cookies; redirects are not followed. */
  async send(url: URL | string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("cookie", [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
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
    const other = new Person(this.#origin, this.#behaviour);
    for (const [name, value] of this.#cookies) other.#cookies.set(name, value);
    return other;
  }

  #answer(url: string, html: string): Promise<Response> {
    const form = readForms(html)[0];
    if (form === undefined) throw new Error(`a page without a form: ${textOf(html)}`);
    const answers: Record<string, Record<string, string>> = {
      "sign-in": { ...this.#behaviour },
      consent: { decision: "allow" },
      "select-account": { account: "current" },
      logout: { decision: "leave" },
    };
    const body = new URLSearchParams([...form.hidden, ...Object.entries(answers[pageName(url)] ?? {})]);
    return this.send(new URL(form.action, this.#origin), { method: "POST", body });
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

function textOf(html: string): string {
  return html
    .replace(/<[^>]+>/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

function pageName(url: string): string {
  return new URL(url).pathname.split("/").at(-1) ?? "";
}
