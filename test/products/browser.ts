import { type IncomingMessage, request } from "node:http";
import { buffer } from "node:stream/consumers";
import type { Arrival, Page, Person } from "../../packages/edge-op/testing/person.ts";

export interface Shown {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
}

const stepsAtMost = 20;

/**
 * **A browser without a screen** in which a person uses an application: keeps the application's cookies by their path, follows redirects between it
 * and the provider, and fills in the provider's pages.
 */
export class Browser {
  readonly #provider: string;
  readonly #person: Person;
  #cookies: readonly Cookie[] = [];

  constructor(provider: string, person: Person) {
    this.#provider = new URL(provider).origin;
    this.#person = person;
  }

  /** Requests a URL of the application or the provider, and follows redirects to the page that is shown at the end. */
  async open(start: URL | string, init: RequestInit = {}): Promise<Shown> {
    let [url, sent] = [new URL(start), init];
    for (let step = 0; step < stepsAtMost; step += 1) {
      if (url.origin === this.#provider) {
        const reached = await this.#visitProvider(url, sent);
        if (reached.kind === "page") return { url, status: reached.status, headers: new Headers(), text: reached.html };
        const { body } = reached;
        [url, sent] = [reached.url, body === undefined ? {} : { method: "POST", body }];
        continue;
      }
      const response = await this.send(url, sent);
      const location = response.headers.get("location");
      if (location === null || response.status < 300) {
        return { url, status: response.status, headers: response.headers, text: await response.text() };
      }
      [url, sent] = [new URL(location, url), response.status >= 307 ? sent : {}];
    }
    throw new Error(`no end of redirects at ${url}`);
  }

  /** One request to the application. */
  async send(url: URL, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    const sent = this.#cookies.filter(({ path }) =>
      `${url.pathname}/`.startsWith(path.endsWith("/") ? path : `${path}/`),
    );
    if (sent.length > 0) headers.set("cookie", sent.map(({ name, value }) => `${name}=${value}`).join("; "));
    const response = await navigate(new Request(url, { ...init, headers }));
    for (const line of response.headers.getSetCookie()) this.#keep(line, url);
    return response;
  }

  /** The value of a cookie of the application. */
  cookie(name: string): string | undefined {
    return this.#cookies.find((cookie) => cookie.name === name)?.value;
  }

  /** Signs in, allows, loads the frames of a front-channel logout, and continues. */
  async #visitProvider(url: URL, init: RequestInit): Promise<Page | Arrival> {
    let reached = await this.#person.open(url, init);
    for (let step = 0; step < stepsAtMost && reached.kind === "page"; step += 1) {
      const { html, status } = reached;
      const linked = [...html.matchAll(/<iframe[^>]* src="([^"]+)"/g)].map(([, src]) => new URL(decode(src!)));
      for (const frame of linked) await this.open(frame);
      const next = /<a[^>]* href="([^"]+)"[^>]* id="continue"/.exec(html)?.[1];
      if (next !== undefined) return { kind: "arrival", url: new URL(decode(next)), body: undefined, pages: [] };
      if (status !== 200 || !html.includes("<form")) return reached;
      reached = await this.#person.submit(reached);
    }
    return reached;
  }

  #keep(line: string, url: URL): void {
    const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
    const [name, value] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
    const named = Object.fromEntries(
      attributes.map((each) => [each.split("=")[0]!.toLowerCase(), each.slice(each.indexOf("=") + 1)]),
    );
    const path = named["path"] ?? (url.pathname.slice(0, url.pathname.lastIndexOf("/")) || "/");
    const isOver = named["max-age"] === "0" || new Date(named["expires"] ?? 8.64e15).getTime() < Date.now();
    const others = this.#cookies.filter((cookie) => cookie.name !== name || cookie.path !== path);
    this.#cookies = isOver ? others : [{ name, value, path }, ...others];
  }
}

/** Requests a page like a browser: a `fetch` would say that it comes from a script. */
async function navigate(input: Request): Promise<Response> {
  const headers = { accept: "text/html,*/*;q=0.8", ...Object.fromEntries(input.headers), "sec-fetch-mode": "navigate" };
  const body = Buffer.from(await input.arrayBuffer());
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = {
      method: input.method,
      headers: { ...headers, "content-length": body.length },
      agent: false,
    } as const;
    request(input.url, options, resolve).once("error", reject).end(body);
  });
  const received = Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const content = await buffer(incoming);
  const status = incoming.statusCode!;
  return new Response([204, 304].includes(status) ? null : content, { status, headers: received });
}

function decode(attribute: string): string {
  return attribute.replaceAll("&amp;", "&");
}

/** The value of an input of a page, such as a token against request forgery. */
export function inputValue(html: string, name: string): string {
  const input = new RegExp(`<input[^>]*name="${name}"[^>]*>`).exec(html)?.[0] ?? "";
  return decode(/value="([^"]*)"/.exec(input)?.[1] ?? "");
}
