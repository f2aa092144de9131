import { join } from "node:path";
import { AdminApi, type ApiResponse, basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { type MeasuredProvider, startMeasuredProvider } from "../lib/local-provider.ts";
import { cpuMicroseconds, findRuntime } from "../lib/process-time.ts";
import { readServerTiming } from "../lib/server-timing.ts";
import type { Shards } from "../model/store-report.ts";
import { Browser } from "../seed/browser.ts";
import { type Cast, createCast, redirectUri } from "../seed/provision.ts";
import type { Counted } from "./lease-stage.ts";

export interface Cpu {
  readonly workers: number;
  readonly objects: number;
}

const people = 32;
const mostAttempts = 5;

/** Sends a request again after a 503, because a store may be late on a busy machine. A code and a refresh token stay valid. */
async function unlessUnavailable(send: () => Promise<ApiResponse>): Promise<ApiResponse> {
  let response = await send();
  for (let attempts = 1; response.status === 503 && attempts < mostAttempts; attempts += 1) response = await send();
  return response;
}

/**
 * **A local provider with few shards** and people who sign in, refresh and get codes. The endpoint Workers run in another process than the objects,
 * so the CPU of each side is measured alone.
 */
export class StoreStage {
  readonly provider: MeasuredProvider;
  readonly #cast: Cast;
  readonly #workers: Readonly<Record<string, string>>;
  readonly #workerProcess: number;
  readonly #objectProcess: number;
  readonly #cookies: string[] = [];
  readonly #refreshTokens: string[] = [];
  database = 0;

  private constructor(
    provider: MeasuredProvider,
    cast: Cast,
    workers: Readonly<Record<string, string>>,
    processes: { readonly workers: number; readonly objects: number },
  ) {
    this.provider = provider;
    this.#cast = cast;
    this.#workers = workers;
    this.#workerProcess = processes.workers;
    this.#objectProcess = processes.objects;
  }

  static async prepare(shards: Shards): Promise<StoreStage> {
    const provider = await startMeasuredProvider({
      isolateProcesses: true,
      vars: { SERVER_TIMING: "true" },
      entryPoints: { "op-state": join(import.meta.dirname, "workers", "counting-objects.ts") },
    });
    const objects = findRuntime(process.pid);
    const cast = await createCast(provider, people);
    await openShards(provider, shards);
    const isolate = await provider.startIsolate();
    if (objects === undefined) throw new Error("CPU is measured on Linux alone");
    const processes = { objects, workers: isolate.runtimeProcess };
    return new StoreStage(provider, cast, isolate.origins, processes);
  }

  #browser(cookieHeader = ""): Browser {
    return new Browser(this.#workers["op-auth"]!, {
      issuer: this.provider.origin,
      cookieHeader,
      onResponse: ({ headers }) => this.#noteTiming(headers),
    });
  }

  /** D1 queries that requests waited for, as counted by the Workers. */
  #noteTiming(headers: Headers): void {
    const calls = readServerTiming(headers.get("server-timing") ?? undefined);
    if (calls === undefined) throw new Error("a response has no Server-Timing");
    this.database += calls.d1;
  }

  #token(form: Record<string, string>): Promise<ApiResponse> {
    const authorization = basicAuthorization(this.#cast.clients.web);
    return unlessUnavailable(() => postForm(`${this.#workers["op-token"]}/token`, form, { authorization }));
  }

  async #redeem(code: string, verifier: string): Promise<Record<string, unknown>> {
    const form = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
    const response = await this.#token(form);
    this.#noteTiming(response.headers);
    if (response.status !== 200) throw new Error(`the code was refused: ${response.status} ${response.text}`);
    return response.body;
  }

  /** A browser signs in with its password and gets a code, which the application redeems. */
  async signIn(person: number, scope: string): Promise<void> {
    const browser = this.#browser();
    const { web } = this.#cast.clients;
    const who = this.#cast.people[person % people]!;
    const { code, verifier } = await browser.authorize(web.client_id, scope, undefined, who);
    const body = await this.#redeem(code, verifier);
    this.#cookies[person] = browser.cookieHeader;
    this.#refreshTokens[person] = String(body.refresh_token ?? "");
  }

  /** An open session gets a code, which is redeemed: the cost of each further application of a signed-in user. */
  async silentCode(person: number): Promise<void> {
    const browser = this.#browser(this.#cookies[person]);
    const { web } = this.#cast.clients;
    const { code, verifier } = await browser.authorize(web.client_id, "openid profile", "none");
    await this.#redeem(code, verifier);
  }

  async refresh(person: number): Promise<void> {
    const form = { grant_type: "refresh_token", refresh_token: this.#refreshTokens[person]! };
    const response = await this.#token(form);
    this.#noteTiming(response.headers);
    if (response.status !== 200) throw new Error(`a refresh was refused: ${response.status} ${response.text}`);
    this.#refreshTokens[person] = String(response.body.refresh_token);
  }

  /** Microseconds since the processes began. */
  cpu(): Cpu {
    return { workers: cpuMicroseconds(this.#workerProcess), objects: cpuMicroseconds(this.#objectProcess) };
  }

  async count(): Promise<Counted> {
    return (await (await fetch(this.provider.direct["op-state"]!)).json()) as Counted;
  }

  async stop(): Promise<void> {
    await this.provider.stop();
  }
}

async function openShards(provider: MeasuredProvider, shards: Shards): Promise<void> {
  const admin = new AdminApi(provider.origin, provider.admin);
  const wanted = [
    ["refresh", shards.refresh],
    ["session", shards.session],
    ["code", shards.session],
    ["challenge", shards.session],
  ] as const;
  for (const [store, count] of wanted) await admin.require("POST", "/shards/generations", { store, shards: count });
}
