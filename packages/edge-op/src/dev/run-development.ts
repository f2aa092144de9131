import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DemoResources } from "@edge-op/example-application/demo";
import { type DemoRp, startDemoRp } from "@edge-op/example-application/start-demo-rp";
import { type Request, Response } from "miniflare";
import { type Application, resourceOf } from "../applications.ts";
import type { Builds } from "../builds.ts";
import { applySeed } from "../demo/apply-seed.ts";
import type { Seed } from "../demo/seed.ts";
import { type DevFile, seedDemo } from "../demo/seed-demo.ts";
import { isPortFree } from "../free-port.ts";
import { Mailbox } from "../mailbox.ts";
import { OutdatedStateError } from "../migrate-database.ts";
import { type LocalProvider, type LocalProviderOptions, PortTakenError, runProvider } from "../run-provider.ts";
import { Activity } from "./activity.ts";
import { type PanelContent, serveDevelopmentPage } from "./development-pages.ts";

export interface DevelopmentOptions
  extends Pick<LocalProviderOptions, "shape" | "direct" | "distances" | "vars" | "hooks" | "onLog"> {
  readonly port: number;
  readonly host: string;
  /** The directory of the state; without it, no state is kept. */
  readonly stateDir?: string;
  /** Replaces the demo. */
  readonly seed?: Seed;
  /** The port of the demo application. */
  readonly demoPort: number;
  /** The examples that run beside the provider. */
  readonly applications?: Readonly<Record<keyof DemoResources, Application & { readonly port: number }>>;
  onProgress(text: string): void;
}

/** The registrations; the demo's names are keys in place of ids. */
export type Registered = Omit<DevFile, "clients" | "users" | "administrator" | "resources" | "client_document"> &
  Partial<Pick<DevFile, "administrator">> &
  Pick<Awaited<ReturnType<typeof applySeed>>, "clients" | "users">;

/** The file of the registrations in the state directory. */
const registeredFile = "dev.json";

/** The run's box in its own mailbox. */
const boxName = "development";

const loopback = ["127.0.0.1", "::1", "localhost"];

/**
 * **A provider for development, with its demo or with a seed**: for `npm start` and `edge-op dev`. Its port opens after seeding, so that everything
 * is complete when `GET /health` first succeeds.
 */
export class DevelopmentRun {
  readonly #builds: Builds;
  readonly #options: DevelopmentOptions;
  readonly #stateDir: string;
  #provider: LocalProvider | undefined;
  #relyingParty: DemoRp | undefined;
  #forwarder: Forwarder | undefined;
  #mailbox: Mailbox | undefined;
  readonly #activity = new Activity();
  #panel: PanelContent | undefined;

  constructor(builds: Builds, options: DevelopmentOptions) {
    this.#builds = builds;
    this.#options = options;
    this.#stateDir = options.stateDir ?? mkdtempSync(join(tmpdir(), "edge-op-"));
  }

  async start(reset = false): Promise<{ readonly provider: LocalProvider; readonly registered: Registered }> {
    const { port, host, demoPort, seed, applications, shape, direct, distances, vars, hooks, onLog, onProgress } =
      this.#options;
    const others = Object.values(applications ?? {}).map((application) => application.port);
    for (const wanted of [port, ...(seed === undefined ? [demoPort] : []), ...others]) {
      if (!(await isPortFree(host, wanted))) throw new PortTakenError(wanted);
    }
    process.once("exit", lockState(this.#stateDir));
    if (reset) this.#wipe();
    onProgress("Setting up: database, keys, first admin client, demo …");
    this.#mailbox = await Mailbox.start();
    const provider = await runProvider(this.#builds, {
      ...(shape === undefined ? {} : { shape }),
      onLog: (line) => {
        this.#activity.read(line);
        // The runtime's messages about itself, for its own developers.
        if (!line.message.startsWith("NOSENTRY")) onLog?.(line);
      },
      // Others in the network must not see the demo's passwords.
      ...(loopback.includes(host) ? { pages: (request) => this.#servePage(request) } : {}),
      ...(direct === undefined ? {} : { direct }),
      ...(distances === undefined ? {} : { distances }),
      ...(applications === undefined ? {} : { applications }),
      ...(hooks === undefined ? {} : { hooks }),
      host,
      stateDir: this.#stateDir,
      vars: { ...this.#mailbox.variables(boxName), ISSUER: `http://localhost:${port}`, ...vars },
    });
    this.#provider = provider;
    const registered = await this.#register(provider);
    const client = registered.clients["app"];
    if (seed === undefined && client !== undefined) {
      this.#relyingParty = await startDemoRp({
        ...{ port: demoPort, issuer: provider.issuer, client },
        users: Object.values(registered.users),
      });
    }
    this.#panel = this.#describe(registered);
    this.#activity.clear();
    this.#forwarder = await forwardPort(host, port, Number(new URL(provider.origin).port));
    return { provider: { ...provider, origin: `http://localhost:${port}` }, registered };
  }

  async #servePage(request: Request): Promise<Response> {
    if (this.#panel === undefined) return new Response("Starting …\n", { status: 503 });
    return serveDevelopmentPage(request, this.#activity, this.#panel, this.#mailbox?.mails(boxName) ?? []);
  }

  #describe({ issuer, clients, users }: Registered): PanelContent {
    const { seed, demoPort, stateDir } = this.#options;
    const ofDemo = seed === undefined;
    return {
      issuer,
      demo: ofDemo ? `http://localhost:${demoPort}` : undefined,
      users: Object.values(users).map(({ username, password }) => ({
        username,
        password: ofDemo ? password : undefined,
      })),
      clients: Object.values(clients).map(
        ({ client_id: id, client_secret: secret, redirect_uris: redirectUris = [] }) => ({
          ...{ id, redirectUris, isPublic: secret === "" },
        }),
      ),
      secrets: `Secrets are ${stateDir === undefined ? "in the terminal" : `in ${join(stateDir, registeredFile)}`}.`,
    };
  }

  async #register(provider: LocalProvider): Promise<Registered> {
    const { seed, demoPort, applications } = this.#options;
    const path = join(this.#stateDir, registeredFile);
    if (seed === undefined) {
      const resources =
        applications === undefined ? {} : { mcp: resourceOf(applications.mcp), api: resourceOf(applications.api) };
      return seedDemo(provider, path, `http://localhost:${demoPort}`, resources);
    }
    const known = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Registered) : undefined;
    const { issuer, admin } = provider;
    const registered = { issuer, admin, ...(await applySeed(provider, seed, known?.clients)) };
    writeFileSync(path, `${JSON.stringify(registered, null, 2)}\n`, { mode: 0o600 });
    return registered;
  }

  /** Deletes all state except the lock that this process holds. */
  #wipe(): void {
    for (const name of ["state", "secrets.json", registeredFile, "mcp-client.json"]) {
      rmSync(join(this.#stateDir, name), { recursive: true, force: true });
    }
  }

  async stop(): Promise<void> {
    this.#forwarder?.close();
    this.#mailbox?.close();
    await Promise.all([this.#provider?.stop(), this.#relyingParty?.stop()]);
    if (this.#options.stateDir === undefined) rmSync(this.#stateDir, { recursive: true, force: true });
  }
}

/**
 * Advice about an error of a start; `undefined` for an unexpected one. `otherPort`: how to choose another port; `anew`: how to begin without the
 * state.
 */
export function adviceFor(
  error: unknown,
  { otherPort, anew }: { readonly otherPort: string; readonly anew: string },
): string | undefined {
  if (error instanceof PortTakenError) {
    return `${error.message} Stop the process that listens there, or choose another port: ${otherPort}`;
  }
  if (error instanceof StateInUseError) return `${error.message} Stop it first; it may listen on another port.`;
  if (error instanceof OutdatedStateError) return `${error.message} Delete the state: ${anew}`;
  return undefined;
}

export interface Forwarder {
  readonly port: number;
  /** Ends every connection. */
  close(): void;
}

/**
 * **Forwards the connections of a port to another port of this machine**, unchanged: a Worker sees the `Host` that the client sent. Both ports are on
 * `host`; `port`: 0 for a free one.
 */
export async function forwardPort(host: string, port: number, target: number): Promise<Forwarder> {
  const open = new Set<Socket>();
  const server = createServer({ noDelay: true }, (inner) => {
    const outer = connect({ host, port: target, noDelay: true });
    inner.pipe(outer).pipe(inner);
    open.add(inner);
    inner.on("error", () => outer.destroy());
    outer.on("error", () => inner.destroy());
    inner.on("close", () => {
      open.delete(inner);
      outer.destroy();
    });
  });
  server.listen(port, host);
  await once(server, "listening");
  const close = (): void => {
    server.close();
    for (const socket of open) socket.destroy();
  };
  return { port: (server.address() as AddressInfo).port, close };
}

export class StateInUseError extends Error {
  override readonly name = "StateInUseError";
}

/**
 * **Allows one process per state directory**: two runtimes on the same SQLite files would corrupt them. The result unlocks the directory. The lock of
 * a process that has ended is ignored.
 */
export function lockState(stateDir: string): () => void {
  const path = join(stateDir, "process.pid");
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: "wx" });
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (!isCode(error, "EEXIST")) throw error;
      const owner = Number(readFileSync(path, "utf8"));
      if (owner !== process.pid && isRunning(owner)) {
        throw new StateInUseError(`Process ${owner} is running on ${stateDir}.`);
      }
      rmSync(path, { force: true });
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return isCode(error, "EPERM");
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
