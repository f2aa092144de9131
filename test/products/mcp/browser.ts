import { chmodSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { Person } from "../../../packages/edge-op/testing/person.ts";
import { Browser } from "../browser.ts";

const pagesAtMost = 5;

/**
 * **The browser that a product opens**: a program under the names that products look for. A user fills in the provider's
 * pages and the first form of any other page, and ends at the product's callback.
 */
export class OpenedBrowser {
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
      visit(url, new Browser(issuer, new Person(issuer, user))).catch((error: unknown) => {
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
    const browser = new OpenedBrowser(environment, () => {
      server.closeAllConnections();
      server.close();
    });
    return browser;
  }

  stop(): void {
    this.#close();
  }
}

/** Signs in, and agrees to what a page of the product asks on the way. */
async function visit(start: URL, browser: Browser): Promise<void> {
  let shown = await browser.open(start);
  for (let page = 0; page < pagesAtMost; page += 1) {
    const [, attributes = "", inner = ""] = /<form([^>]*)>([\s\S]*?)<\/form>/.exec(shown.text) ?? [];
    if (inner === "") return;
    const inputs = [...inner.matchAll(/<(?:input|button)[^>]*>/g)].map(([tag]): [string, string] => [
      /name="([^"]*)"/.exec(tag)?.[1] ?? "",
      /value="([^"]*)"/.exec(tag)?.[1] ?? "",
    ]);
    // If several buttons have one name, the first one agrees.
    const fields = new Map(inputs.filter(([name]) => name !== "").toReversed());
    const action = new URL(/action="([^"]*)"/.exec(attributes)?.[1] ?? "", shown.url);
    shown = await browser.open(action, { method: "POST", body: new URLSearchParams([...fields]) });
  }
  throw new Error("no end of pages");
}
