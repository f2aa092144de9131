import { chmodSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { Person } from "../../../packages/edge-op/src/testing/person.ts";

const pagesAtMost = 20;

/**
 * **The browser that a product opens**: a program under the names that products look for. It fills in the provider's pages as a user, submits the
 * first form of any other page, and ends at the product's callback.
 */
export class Browser {
  /** The URLs that products opened. */
  readonly opened: URL[] = [];
  /** The environment in which products find this browser. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #close: () => void;

  private constructor(environment: Readonly<Record<string, string>>, close: () => void) {
    this.environment = environment;
    this.#close = close;
  }

  static async start(folder: string, issuer: string, user: { readonly username: string; readonly password: string }) {
    const server = createServer((request, response) => {
      const url = new URL(new URL(request.url ?? "/", issuer).searchParams.get("url") ?? "");
      browser.opened.push(url);
      response.end();
      visit(url, new Person(issuer, user), issuer).catch((error: unknown) => {
        console.error(`the browser at ${url}: ${error instanceof Error ? error.message : String(error)}`);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const program = join(folder, "xdg-open");
    const source = `fetch("http://127.0.0.1:${port}/?url=" + encodeURIComponent(process.argv[1]))`;
    writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" -e '${source}' "$1"\n`);
    chmodSync(program, 0o755);
    const environment = { BROWSER: program, PATH: `${folder}${delimiter}${process.env["PATH"]}`, DISPLAY: "" };
    const browser = new Browser(environment, () => {
      server.closeAllConnections();
      server.close();
    });
    return browser;
  }

  stop(): void {
    this.#close();
  }
}

/** Cookies are those of the product's own pages; the person has the provider's. */
async function visit(start: URL, person: Person, issuer: string): Promise<void> {
  const cookies = new Map<string, string>();
  let url = start;
  let init: RequestInit = {};
  for (let page = 0; page < pagesAtMost; page += 1) {
    if (url.origin === issuer) {
      url = (await person.visit(url)).url;
      continue;
    }
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { ...init, headers: { cookie }, redirect: "manual" });
    init = {};
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    const html = await response.text();
    if (location !== null) {
      url = new URL(location, url);
      continue;
    }
    const [, attributes, inner = ""] = /<form([^>]*)>([\s\S]*?)<\/form>/.exec(html) ?? [];
    if (attributes === undefined) return;
    const inputs = [...inner.matchAll(/<(?:input|button)[^>]*>/g)].map(([tag]) => [
      /name="([^"]*)"/.exec(tag)?.[1] ?? "",
      /value="([^"]*)"/.exec(tag)?.[1] ?? "",
    ]);
    const fields = new Map(inputs.filter(([name]) => name !== "").toReversed() as [string, string][]);
    url = new URL(/action="([^"]*)"/.exec(attributes)?.[1] ?? "", url);
    init = { method: "POST", body: new URLSearchParams([...fields]) };
  }
  throw new Error("no end of pages");
}
