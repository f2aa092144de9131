import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type LocalProvider, startLocalProvider } from "../../packages/local-provider/src/local-provider.ts";
import {
  AdminApi,
  basicAuthorization,
  type Credentials,
  postForm,
} from "../../packages/local-provider/src/provider-api.ts";
import { Guarantee, type Observation, type Verdict } from "./guarantee.ts";
import type { ClientSettings, ToClient } from "./introspecting-client.ts";

export interface SoakOptions {
  readonly seconds: number;
  readonly clients: number;
  readonly mode: string;
  readonly log: (line: string) => void;
}

export interface SoakResult {
  readonly introspections: Readonly<Record<Verdict, number>>;
  readonly issued: number;
  readonly revoked: number;
  readonly evictions: number;
  readonly restarts: number;
  readonly generationsOpened: number;
  readonly keysRotated: number;
}

type Deed = keyof Omit<SoakResult, "introspections">;

/** Live tokens that are introspected at any moment. */
const poolSize = 40;
/** How long a thing that has not happened yet is tried after the time is up. */
const patienceMs = 20_000;
/** A revoked token is looked at for this long after its revoke returned. */
const watchMs = 3_000;

/** Starts a provider with further isolates, lets everything happen at once for a while, and judges each answer. */
export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const provider = await startLocalProvider({
    direct: true,
    extraIsolates: 2,
    vars: { REVOCATION_MODE: options.mode },
  });
  try {
    const soak = await Soak.prepare(provider, options);
    return await soak.run();
  } finally {
    await provider.stop();
  }
}

class Soak {
  readonly #provider: LocalProvider;
  readonly #admin: AdminApi;
  readonly #client: Credentials;
  readonly #options: SoakOptions;
  readonly #guarantee = new Guarantee();
  readonly #live = new Map<number, string>();
  readonly #done = { issued: 0, revoked: 0, evictions: 0, restarts: 0, generationsOpened: 0, keysRotated: 0 };
  #clients: ChildProcess[] = [];
  #stopAtMs = 0;

  constructor(provider: LocalProvider, admin: AdminApi, client: Credentials, options: SoakOptions) {
    this.#provider = provider;
    this.#admin = admin;
    this.#client = client;
    this.#options = options;
  }

  static async prepare(provider: LocalProvider, options: SoakOptions): Promise<Soak> {
    const admin = new AdminApi(provider.origin, provider.admin);
    const created = await admin.require("POST", "/clients", {
      client_name: "soak",
      token_endpoint_auth_method: "client_secret_basic",
      grant_types: ["client_credentials"],
      scope: "read",
      audiences: ["https://api.example.com"],
    });
    const client = { client_id: String(created.client_id), client_secret: String(created.client_secret) };
    return new Soak(provider, admin, client, options);
  }

  async run(): Promise<SoakResult> {
    this.#stopAtMs = Date.now() + this.#options.seconds * 1000;
    this.#clients = Array.from({ length: this.#options.clients }, () => this.#startClient());
    const ended = this.#clients.map((client) => once(client, "exit"));
    await Promise.all([
      this.#every(20, "issued", () => this.#issue()),
      this.#every(100, "revoked", () => this.#revoke()),
      this.#every(100, "revoked", () => this.#revoke()),
      this.#every(700, "evictions", () => this.#evict()),
      this.#every(9_000, "restarts", () => this.#restart()),
      this.#every(5_000, "generationsOpened", () => this.#openGeneration()),
      this.#every(4_000, "keysRotated", () => this.#rotateKey()),
    ]);
    // Every token that was revoked is looked at once more by isolates that have had time to forget.
    await sleep(watchMs);
    this.#tell({ kind: "stop" });
    await Promise.all(ended);
    return { introspections: this.#guarantee.counts, ...this.#done };
  }

  #startClient(): ChildProcess {
    const isolates = Object.entries(this.#provider.direct).filter(([name]) => name.startsWith("op-management"));
    const settings: ClientSettings = {
      origins: { op: this.#provider.origin, ...Object.fromEntries(isolates) },
      authorization: basicAuthorization(this.#client),
      connections: 3,
    };
    const path = join(import.meta.dirname, "introspecting-client.ts");
    const client = fork(path, [JSON.stringify(settings)]);
    client.on("message", (seen) => {
      for (const observation of seen as Observation[]) this.#judge(observation);
    });
    return client;
  }

  #judge(observation: Observation): void {
    const verdict = this.#guarantee.judge(observation);
    if (verdict !== "right" && verdict !== "unavailable")
      this.#options.log(`${verdict} ${JSON.stringify(observation)}`);
  }

  #tell(message: ToClient): void {
    for (const client of this.#clients) if (client.connected) client.send(message);
  }

  /** Until the time is up, and on a busy machine a little longer: each thing has happened once at least. */
  async #every(periodMs: number, counter: Deed, work: () => Promise<void>): Promise<void> {
    const goesOn = (atMs: number) =>
      atMs + periodMs < this.#stopAtMs || (this.#done[counter] === 0 && atMs < this.#stopAtMs + patienceMs);
    while (goesOn(Date.now())) {
      await sleep(periodMs);
      await work();
    }
  }

  async #issue(): Promise<void> {
    if (this.#live.size >= poolSize) return;
    const token = await this.#try("/token", { grant_type: "client_credentials" });
    if (token?.status !== 200) return;
    const number = this.#guarantee.issued();
    const value = String(token.body.access_token);
    this.#live.set(number, value);
    this.#done.issued += 1;
    this.#tell({ kind: "token", number, value });
  }

  /** Sent again until it is answered 200: only then is the guarantee given. */
  async #revoke(): Promise<void> {
    const [oldest] = this.#live;
    if (oldest === undefined || this.#live.size < poolSize / 2) return;
    const [number, value] = oldest;
    this.#live.delete(number);
    this.#guarantee.revokeSent(number, Date.now());
    for (let tries = 0; tries < 40; tries += 1) {
      const reply = await this.#try("/revoke", { token: value });
      if (reply?.status === 200) {
        this.#guarantee.revokeReturned(number, Date.now());
        this.#done.revoked += 1;
        setTimeout(() => this.#tell({ kind: "forget", number }), watchMs).unref();
        return;
      }
      await sleep(250);
    }
    throw new Error("a revoke was not answered within ten seconds of tries");
  }

  /** `undefined` when the connection broke. */
  async #try(path: string, form: Readonly<Record<string, string>>) {
    try {
      return await postForm(this.#provider.origin + path, form, { authorization: basicAuthorization(this.#client) });
    } catch (error) {
      if (error instanceof TypeError) return undefined;
      throw error;
    }
  }

  async #evict(): Promise<void> {
    const end = this.#guarantee.faultBegins(Date.now());
    const shard = Math.floor(Math.random() * 8);
    try {
      await this.#provider.evict("TokenRevocationStore", `revocation:g1:wnam:${shard}`);
      this.#done.evictions += 1;
    } catch (error) {
      // An object that is not running cannot be evicted.
      this.#options.log(`not evicted: ${String(error)}`);
    }
    end(Date.now());
  }

  async #restart(): Promise<void> {
    const end = this.#guarantee.faultBegins(Date.now());
    await this.#provider.restart();
    end(Date.now());
    this.#done.restarts += 1;
  }

  async #openGeneration(): Promise<void> {
    const regions = { wnam: { shards: 4 + (this.#done.generationsOpened % 3) * 2, hint: "wnam" } };
    await this.#administer("POST", "/shards/generations", { store: "revocation", regions }, "generationsOpened");
  }

  async #rotateKey(): Promise<void> {
    await this.#administer("POST", "/keys", { alg: "ES256" }, "keysRotated");
  }

  /** An admin call may meet a restart; then it did not happen as far as anyone knows, and the next one comes. */
  async #administer(
    method: string,
    path: string,
    body: unknown,
    counter: "generationsOpened" | "keysRotated",
  ): Promise<void> {
    try {
      const reply = await this.#admin.call(method, path, body);
      if (reply.status === 201) this.#done[counter] += 1;
      else this.#options.log(`${method} ${path}: ${reply.status} ${reply.text}`);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      this.#options.log(`${method} ${path}: ${String(error)}`);
    }
  }
}
