import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import type { Browser as Chromium, Page } from "playwright-core";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { type LocalProvider, startLocalProvider } from "../../packages/edge-op/src/local-provider.ts";
import { Person } from "../../packages/edge-op/src/testing/person.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { ProviderFixtures } from "../conformance/fixtures/provider-fixtures.ts";
import { fetchWithCertificate, startTlsProxy, type TlsProxy } from "../conformance/fixtures/tls-proxy.ts";
import { TestAuthority } from "../fixtures/client-certificates.ts";
import { block, filesOf, registrationOf } from "../fixtures/clients-page.ts";
import { launchChromium } from "../browser/browser-fixtures.ts";
import { Browser } from "./browser.ts";

/** Packages of a registry, with their versions. */
export interface Packages {
  readonly npm?: readonly string[];
  /** These npm packages are dependencies of this repository, so that `npm test` needs no registry. */
  readonly isHere?: true;
  readonly pip?: readonly string[];
  /** Go modules that `main.go` of the page imports. */
  readonly go?: readonly string[];
  /** Debian packages, which are unpacked into `root`. */
  readonly deb?: readonly string[];
}

/** What a product has shown; each is asserted by its script. */
export interface Evidence {
  /** The claims of the person that the product has. */
  readonly claims: Readonly<Record<string, unknown>>;
  readonly refresh: string;
  readonly signOut: string;
}

export interface Product {
  /** Its name in docs/clients.md. */
  readonly name: string;
  /** Its registration in docs/clients.md; that of its row by default. */
  readonly registration?: string;
  readonly packages: Packages;
  show(run: ProductRun): Promise<Evidence>;
}

const execute = promisify(execFile);
const user = { username: "alice", password: "correct horse battery staple" };
/** The person whom a product signs in. */
export const alice = { name: "Alice Adams", preferred_username: "alice", email: "alice@example.com", email_verified: true };

/** **A provider with https, as products find it in production**, and the products' runs at it. */
export class Stage {
  readonly issuer: string;
  readonly #provider: LocalProvider;
  readonly #proxy: TlsProxy;
  readonly fixtures: ProviderFixtures;
  /** The lines of the provider's log. */
  readonly log: Record<string, unknown>[];
  /** PEM of the provider's certificate, in a file. */
  readonly certificate: string;

  private constructor(provider: LocalProvider, proxy: TlsProxy, log: Record<string, unknown>[]) {
    this.issuer = provider.issuer;
    this.#provider = provider;
    this.#proxy = proxy;
    this.fixtures = new ProviderFixtures(provider);
    this.log = log;
    this.certificate = join(mkdtempSync(join(tmpdir(), "edge-op-certificate-")), "provider.pem");
    writeFileSync(this.certificate, proxy.cert);
  }

  static async open(): Promise<Stage> {
    const log: Record<string, unknown>[] = [];
    const port = await findFreePort("localhost");
    const provider = await startLocalProvider({
      shape: "compact",
      vars: { ISSUER: `https://localhost:${port}`, REQUEST_LOG_PERCENT: "100" },
      onLog: ({ message }) => message.startsWith("{") && log.push(JSON.parse(message) as Record<string, unknown>),
    });
    const { cert: authority } = await TestAuthority.create();
    const proxy = await startTlsProxy({ port, origin: provider.origin, authority });
    const stage = new Stage(provider, proxy, log);
    await stage.fixtures.user({ ...user, sub: "alice", claims: alice, groups: ["staff"] });
    return stage;
  }

  get fetch(): typeof fetch {
    return fetchWithCertificate(this.#proxy);
  }

  person(): Person {
    return new Person(this.issuer, user, this.fetch);
  }

  async run(product: Product): Promise<Evidence> {
    const run = await ProductRun.prepare(this, product);
    try {
      return await product.show(run);
    } catch (error) {
      const refused = this.log.filter(({ event }) => event === "refused" || event === "bug");
      throw new Error(`${product.name}: ${(error as Error).message}\n${JSON.stringify(refused)}\n${run.output}`, {
        cause: error,
      });
    } finally {
      await run.stop();
    }
  }

  async close(): Promise<void> {
    rmSync(dirname(this.certificate), { recursive: true });
    await this.#proxy.stop();
    await this.#provider.stop();
  }
}

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

  private constructor(stage: Stage, folder: string, origin: string, client: ProductRun["client"]) {
    this.stage = stage;
    this.folder = folder;
    this.origin = origin;
    this.client = client;
    this.person = stage.person();
    this.browser = new Browser(stage.issuer, this.person);
  }

  static async prepare(stage: Stage, { name, registration, packages }: Product): Promise<ProductRun> {
    const folder = join(tmpdir(), "edge-op-products", name.replaceAll(/\W+/g, "-"));
    await install(folder, packages);
    const origin = `http://localhost:${await findFreePort("localhost")}`;
    const here = (text: string) => text.replaceAll("https://app.example.com", origin);
    const metadata = JSON.parse(here(registration === undefined ? registrationOf(name) : block("registration", registration))) as object;
    const created = await stage.fixtures.admin.require("POST", "/clients", metadata);
    const client = { client_id: String(created["client_id"]), client_secret: String(created["client_secret"] ?? "") };
    const run = new ProductRun(stage, folder, origin, client);
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
    const names = new RegExp(Object.keys(values).map((name) => `\\b${name}\\b`).join("|"), "g");
    writeFileSync(join(this.folder, file), text.replaceAll(names, (name) => values[name as keyof typeof values]));
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), "utf8");
  }

  /** The variables of a file in the format of `.env`. */
  variables(file: string): Record<string, string> {
    const lines = this.read(file).split("\n");
    return Object.fromEntries(
      lines.filter((line) => /^\w+=/.test(line)).map((line) => [line.split("=")[0]!, line.slice(line.indexOf("=") + 1)]),
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
    const { stdout } = await execute(command, words, { cwd: this.folder, env: this.environment });
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
    const ended = Promise.all(this.#children.map((child) => child.exitCode ?? once(child, "exit")));
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
  }
}

/** Installs packages, unless the folder has them since an earlier run. */
export async function install(folder: string, packages: Packages): Promise<void> {
  const [marker, wanted] = [join(folder, "installed.json"), JSON.stringify(packages)];
  if (existsSync(marker) && readFileSync(marker, "utf8") === wanted) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { npm, isHere, pip, go, deb } = packages;
  const run = (command: string, words: readonly string[], env = process.env) =>
    execute(command, words, { cwd: folder, env, maxBuffer: 100_000_000 });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  if (isHere === true) symlinkSync(join(repositoryRoot, "node_modules"), join(folder, "node_modules"));
  else if (npm !== undefined) await run("npm", ["install", "--no-audit", "--no-fund", "--save-exact", ...npm]);
  if (pip !== undefined) {
    await run("python3", ["-m", "venv", ".venv"]);
    await run(".venv/bin/pip", ["install", "--quiet", "--disable-pip-version-check", ...pip]);
  }
  if (go !== undefined) {
    await run("go", ["mod", "init", "app"]);
    await run("go", ["get", ...go]);
  }
  if (deb !== undefined) {
    await run("apt-get", ["download", "-q", ...deb]);
    await run("sh", ["-c", "for file in *.deb; do dpkg -x $file root; done"]);
  }
  writeFileSync(marker, wanted);
}

/** Waits for a condition, for a minute at most. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = Date.now() + 60_000; Date.now() < endMs; await wait(200)) if (await condition()) return;
  throw new Error(`not after a minute: ${what}`);
}
