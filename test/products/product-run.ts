import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import type { Browser as Chromium, Page } from "playwright-core";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import type { Person } from "../../packages/edge-op/testing/person.ts";
import { block, filesOf, registrationOf } from "../../scripts/reference/clients-page.ts";
import { launchChromium } from "../browser/browser-fixtures.ts";
import { Browser } from "./browser.ts";
import { install } from "./install.ts";
import { type Product, until, user } from "./product.ts";
import type { Stage } from "./stage.ts";

/** **One product**: installed in a folder with the files of docs/clients.md, and registered with the metadata there. */
export class ProductRun {
  readonly stage: Stage;
  readonly folder: string;
  /** The origin at which the product listens. */
  readonly origin: string;
  readonly client: { readonly client_id: string; readonly client_secret: string };
  readonly person: Person;
  readonly browser: Browser;
  output = "";
  #children: ChildProcess[] = [];
  #chromium: Chromium | undefined;
  #isKept = true;

  private constructor(stage: Stage, folder: string, origin: string, client: ProductRun["client"]) {
    this.stage = stage;
    this.folder = folder;
    this.origin = origin;
    this.client = client;
    this.person = stage.person();
    this.browser = new Browser(stage.issuer, this.person);
  }

  static async prepare(stage: Stage, { name, registration, packages }: Product): Promise<ProductRun> {
    // Each run of `npm test` has its own; what is installed is kept for the next run.
    const isKept = packages.isHere !== true;
    const kept = join(tmpdir(), "edge-op-products", name.replaceAll(/\W+/g, "-"));
    const folder = isKept ? kept : mkdtempSync(join(tmpdir(), "edge-op-product-"));
    await install(folder, packages);
    const origin = `http://localhost:${await findFreePort("localhost")}`;
    const here = (text: string) => text.replaceAll("https://app.example.com", origin);
    const metadata = JSON.parse(
      here(registration === undefined ? registrationOf(name) : block("registration", registration)),
    ) as object;
    const created = await stage.fixtures.admin.require("POST", "/clients", metadata);
    const client = { client_id: String(created["client_id"]), client_secret: String(created["client_secret"] ?? "") };
    const run = new ProductRun(stage, folder, origin, client);
    run.#isKept = isKept;
    for (const [file, text] of Object.entries(filesOf(name))) run.write(file, text);
    return run;
  }

  /** Writes a file of the product: the values of this run in place of those of the page. */
  write(file: string, text: string): void {
    mkdirSync(dirname(join(this.folder, file)), { recursive: true });
    const values = {
      "https://op.example.com": this.stage.issuer,
      "https://app.example.com": this.origin,
      APP_PORT: this.port,
      CLIENT_ID: this.client.client_id,
      CLIENT_SECRET: this.client.client_secret,
      RANDOM_SECRET: "0123456789abcdef0123456789abcdef",
    };
    const names = new RegExp(
      Object.keys(values)
        .map((name) => `\\b${name}\\b`)
        .join("|"),
      "g",
    );
    writeFileSync(
      join(this.folder, file),
      text.replaceAll(names, (name) => values[name as keyof typeof values]),
    );
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), "utf8");
  }

  /** The variables of a file in the format of `.env`. */
  variables(file: string): Record<string, string> {
    const lines = this.read(file).split("\n");
    return Object.fromEntries(
      lines
        .filter((line) => /^\w+=/.test(line))
        .map((line) => [line.split("=")[0]!, line.slice(line.indexOf("=") + 1)]),
    );
  }

  get port(): string {
    return new URL(this.origin).port;
  }

  get environment(): Record<string, string> {
    const { certificate } = this.stage;
    const path = [join(this.folder, ".venv/bin"), join(this.folder, "bin"), join(this.folder, "node_modules/.bin")];
    return {
      ...(process.env as Record<string, string>),
      PATH: [...path, dirname(process.execPath), process.env["PATH"]].join(delimiter),
      NODE_EXTRA_CA_CERTS: certificate,
      SSL_CERT_FILE: certificate,
      REQUESTS_CA_BUNDLE: certificate,
      PORT: this.port,
    };
  }

  /** Runs a command in the product's folder to its end. */
  async execute(command: string, ...words: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(command, words, { cwd: this.folder, env: this.environment });
    return stdout;
  }

  /** Starts a server of the product, and waits until it responds. */
  async start(command: string, words: readonly string[], variables: Readonly<Record<string, string>> = {}) {
    const child = spawn(command, words, {
      cwd: this.folder,
      env: { ...this.environment, ...variables },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#children.push(child);
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (this.output += String(data)));
    await until(`${command} listens`, () => {
      if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`);
      return fetch(this.origin, { redirect: "manual" }).then(
        () => true,
        () => false,
      );
    });
    return child;
  }

  /** How often the provider issued tokens to this client. */
  get tokenResponses(): number {
    const { client_id: clientId } = this.client;
    return this.stage.log.filter(
      (line) => line["endpoint"] === "/token" && line["status"] === 200 && line["clientId"] === clientId,
    ).length;
  }

  /** Changes this run's registration: to what a test needs, such as short lifetimes. */
  async changeClient(changes: Readonly<Record<string, unknown>>): Promise<void> {
    await this.stage.fixtures.admin.require("PATCH", `/clients/${this.client.client_id}`, changes);
  }

  /** The person signs out at the provider, not at the product. */
  async signOutAtProvider(): Promise<void> {
    await this.browser.open(`${this.stage.issuer}/logout`);
    assert.equal(await this.isSignedInAtProvider(), false);
  }

  /** Whether the person is still signed in at the provider, in the browser of this run. */
  async isSignedInAtProvider(): Promise<boolean> {
    return (await this.person.openPage("/account")).name === "account";
  }

  /** A page of Chromium, for a product that runs in one. */
  async openPage(): Promise<Page> {
    this.#chromium = await launchChromium();
    const context = await this.#chromium.newContext({ ignoreHTTPSErrors: true });
    context.setDefaultTimeout(30_000);
    return context.newPage();
  }

  /** Fills in the provider's pages in Chromium. */
  async signInOn(page: Page): Promise<void> {
    await page.fill("#username", user.username);
    await page.fill("#password", user.password);
    await page.click("#sign-in");
    await page.click("#allow");
  }

  async stop(): Promise<void> {
    await this.#chromium?.close();
    // A server that ends by itself ends its own children, too.
    const running = this.#children.filter(({ exitCode }) => exitCode === null);
    const ended = Promise.all(running.map((child) => once(child, "exit")));
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      for (const { pid } of this.#children) {
        try {
          process.kill(-pid!, signal);
        } catch {
          // It has ended.
        }
      }
      await Promise.race([ended, wait(5_000)]);
    }
    if (!this.#isKept) rmSync(this.folder, { recursive: true });
  }
}
