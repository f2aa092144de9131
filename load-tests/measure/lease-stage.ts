import { join } from "node:path";
import { AdminApi, basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { type MeasuredProvider, type MeasuredProviderOptions, startMeasuredProvider } from "../lib/local-provider.ts";
import { percentile } from "../lib/percentile.ts";
import type { Latency } from "../model/lease-report.ts";

const workers = join(import.meta.dirname, "workers");
const tokensPerShard = 3;

export interface Counted {
  readonly methods: Readonly<Record<string, number>>;
  readonly objects: Readonly<Record<string, number>>;
  readonly rowsWritten: Readonly<Record<string, number>>;
}

type Headers = Readonly<Record<string, string>>;

/**
 * **A local provider under a steady load of introspections**, each isolate at the same rate, for random tokens of all shards. The objects and
 * op-management count their calls.
 */
export class LeaseStage {
  readonly provider: MeasuredProvider;
  readonly admin: AdminApi;
  /** Origins that serve `/introspect`, one per isolate. */
  readonly isolates: readonly string[];
  readonly #client: Headers;
  readonly #tokens: string[] = [];
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** Responses that were not 200, and tokens that were active after their revocation was acknowledged. */
  failures = 0;
  violations = 0;

  private constructor(provider: MeasuredProvider, admin: AdminApi, isolates: readonly string[], client: Headers) {
    this.provider = provider;
    this.admin = admin;
    this.isolates = isolates;
    this.#client = client;
  }

  static async prepare(isolateCount: number, options: MeasuredProviderOptions = {}): Promise<LeaseStage> {
    const provider = await startMeasuredProvider({
      ...options,
      direct: true,
      extraIsolates: isolateCount - 1,
      entryPoints: {
        "op-state": join(workers, "counting-objects.ts"),
        "op-management": join(workers, "counting-management.ts"),
      },
    });
    const admin = new AdminApi(provider.origin, provider.admin);
    const created = await admin.require("POST", "/clients", {
      client_name: "Measured",
      grant_types: ["client_credentials"],
      audiences: ["https://api.example.com"],
      access_token_lifetime: 3600,
    });
    const client = {
      authorization: basicAuthorization({
        client_id: String(created.client_id),
        client_secret: String(created.client_secret),
      }),
    };
    const isolates = Object.entries(provider.direct).flatMap(([name, origin]) =>
      name.startsWith("op-management") ? [origin] : [],
    );
    const stage = new LeaseStage(provider, admin, isolates, client);
    await stage.#makeTokens();
    return stage;
  }

  async newToken(): Promise<string> {
    const response = await postForm(
      `${this.provider.origin}/token`,
      { grant_type: "client_credentials" },
      this.#client,
    );
    return String(response.body.access_token);
  }

  async #makeTokens(): Promise<void> {
    const shards = 8;
    const byShard = new Map<string, string[]>();
    const isFull = () =>
      byShard.size === shards && [...byShard.values()].every((each) => each.length >= tokensPerShard);
    for (let made = 0; made < 500 && !isFull(); made += 1) {
      const token = await this.newToken();
      const { jti } = JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as { jti: string };
      const shard = jti.split(":").slice(0, 3).join(":");
      byShard.set(shard, [...(byShard.get(shard) ?? []), token]);
    }
    if (!isFull()) throw new Error(`the tokens are of ${byShard.size} shards, not ${shards}`);
    for (let row = 0; row < tokensPerShard; row += 1) {
      for (const tokens of byShard.values()) this.#tokens.push(tokens[row]!);
    }
  }

  /** From now on, each of the isolates serves this many introspections per second. */
  startLoad(ratePerIsolate: number, origins: readonly string[] = this.isolates): void {
    for (const origin of origins) {
      const send = () => {
        const token = this.#tokens[Math.floor(Math.random() * this.#tokens.length)]!;
        void this.introspect(origin, token);
      };
      this.#timers.set(origin, setInterval(send, 1000 / ratePerIsolate));
    }
  }

  stopLoad(origins: readonly string[] = [...this.#timers.keys()]): void {
    for (const origin of origins) clearInterval(this.#timers.get(origin));
  }

  async introspect(origin: string, token: string): Promise<boolean | undefined> {
    try {
      const response = await postForm(`${origin}/introspect`, { token }, this.#client);
      if (response.status === 200) return response.body.active === true;
    } catch (error) {
      // A killed isolate refuses connections, which is counted as well.
      if (!(error instanceof TypeError)) throw error;
    }
    this.failures += 1;
    return undefined;
  }

  /** Sends one `/revoke`. Afterwards, each given isolate must refuse the token. */
  async revoke(origins: readonly string[]): Promise<{ readonly elapsedMs: number; readonly token: string }> {
    const token = await this.newToken();
    const startedAt = performance.now();
    const response = await postForm(`${this.provider.origin}/revoke`, { token }, this.#client);
    const elapsedMs = performance.now() - startedAt;
    if (response.status === 200) await this.expectRefused(origins, token);
    else this.failures += 1;
    return { elapsedMs, token };
  }

  async expectRefused(origins: readonly string[], token: string): Promise<void> {
    const active = await Promise.all(origins.map((origin) => this.introspect(origin, token)));
    this.violations += active.filter((answer) => answer === true).length;
  }

  /** Milliseconds of one administrative change to a client that no isolate uses. */
  async change(turn: number): Promise<number> {
    const startedAt = performance.now();
    await this.admin.require("PATCH", `/clients/${this.#unrelated}`, { client_name: `Changed ${turn}` });
    return performance.now() - startedAt;
  }

  #stopped: Promise<void> | undefined;
  #unrelated = "";
  async prepareChanges(): Promise<void> {
    const created = await this.admin.require("POST", "/clients", {
      client_name: "Unrelated",
      grant_types: ["client_credentials"],
    });
    this.#unrelated = String(created.client_id);
  }

  async countObjects(): Promise<Counted> {
    return (await (await fetch(this.provider.direct["op-state"]!)).json()) as Counted;
  }

  /** D1 queries of each isolate except the first, which serves the admin API. */
  async countDatabase(): Promise<readonly number[]> {
    const others = this.isolates.slice(1);
    return Promise.all(
      others.map(async (origin) => ((await (await fetch(`${origin}/counted`)).json()) as { d1: number }).d1),
    );
  }

  /** Stops only once, whoever calls it. */
  stop(): Promise<void> {
    this.stopLoad();
    this.#stopped ??= this.provider.stop();
    return this.#stopped;
  }
}

export function latencyOf(times: readonly number[]): Latency {
  const sorted = times.toSorted((a, b) => a - b);
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), count: sorted.length };
}
