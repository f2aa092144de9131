import { createExecutionContext, type D1Migration } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { matchesClientSecret } from "@edge-op/shared/client-auth/client-secret";
import { loadClient } from "@edge-op/shared/directory/client-directory";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import { nowMs, toSeconds } from "@edge-op/shared/runtime/clock";
import { newGrant } from "@edge-op/shared/sharding/new-grant";
import { signAccessToken } from "@edge-op/shared/tokens/access-token";
import { vi } from "vitest";
import { waitBriefly } from "../../../test/support/call.ts";
import { createApp } from "../src/app.ts";
import { createIsolate } from "../src/isolate.ts";
import type { ManagementEnv } from "../src/management-env.ts";

// Ending grants waits for leases and clocks (protocols.md §2): a test of several such calls takes seconds.
vi.setConfig({ testTimeout: 30_000 });

/** **One isolate of op-management and a caller of its admin API**, with real keys, real objects and a real database. */
export const issuer = "https://op.example.com";

export const everyScope = ["admin:clients", "admin:users", "admin:keys", "admin:tokens", "admin:shards"] as const;

/** The bindings as the Worker has them; the test pool types them more loosely. */
export const bindings = env as unknown as ManagementEnv;

/** The migrations that every test begins with. */
export const { TEST_MIGRATIONS: migrations } = env as unknown as { readonly TEST_MIGRATIONS: D1Migration[] };

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // Bodies are compared with literals.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  readonly body: any;
}

/** An isolate that holds leases, as in production. */
export const leasing = { REVOCATION_MODE: "strict" } as const;

export interface CallOptions {
  readonly token?: string | null;
  readonly body?: unknown;
  /** A body that is sent as it is. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bindings of this call alone. */
  readonly overrides?: Partial<ManagementEnv>;
}

export interface TokenOptions {
  readonly scope?: readonly string[];
  readonly audiences?: readonly string[];
  readonly clientId?: string;
  /** A user whose token it is; without one it is the client's own. */
  readonly user?: string;
}

export class AdminCaller {
  readonly isolate = createIsolate();
  readonly #app = createApp(this.isolate);
  readonly #env: ManagementEnv;
  #token: string | undefined;

  /**
   * `overrides` replace bindings: some of them may fail, or count. Leases are left out unless asked for: every change would
   * wait for those of the test's own isolates.
   */
  constructor(overrides: Partial<ManagementEnv> = {}) {
    this.#env = { ...bindings, REVOCATION_MODE: "direct", ...overrides };
  }

  /** An access token as op-token would issue it to the operators' client. */
  async issueToken({ scope = everyScope, clientId = "operators", user, ...given }: TokenOptions = {}): Promise<string> {
    const audiences = given.audiences ?? [`${issuer}/admin`];
    const execution = createExecutionContext();
    const newContext = () => createRequestContext(new Request(`${issuer}/token`), this.#env, execution);
    // The first call of a deployment makes its keys, which sign from then on; a cold isolate asks which control version it is.
    await this.isolate.revocation.confirmControl(newContext());
    await this.isolate.keyRing.schedule(newContext());
    const context = newContext();
    const { grantId, address, grantCreatedAtMs } = await newGrant(context, this.isolate);
    const nowSeconds = toSeconds(nowMs());
    const token = await signAccessToken(context, this.isolate, "ES256", {
      id: { address, grantId, random: crypto.randomUUID() },
      sub: user ?? clientId,
      clientId,
      grantCreatedAtMs,
      audiences,
      scope,
      issuedAtSeconds: nowSeconds,
      expiresAtSeconds: nowSeconds + 3600,
      forUser: user !== undefined,
    });
    await waitBriefly(execution);
    return token;
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    this.#token ??= await this.issueToken();
    const token = options.token === undefined ? this.#token : options.token;
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const text = options.text ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
    const request = new Request(`${issuer}/admin${path}`, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(text === undefined ? {} : { "content-type": type }),
        ...options.headers,
      },
      ...(text === undefined ? {} : { body: text }),
    });
    const execution = createExecutionContext();
    const response = await this.#app.fetch(request, { ...this.#env, ...options.overrides }, execution);
    await waitBriefly(execution);
    const answer = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: answer === "" ? undefined : JSON.parse(answer),
    };
  }
}

/** Whether a client authenticates with a secret at a moment, by what is in D1. */
export async function isLiveSecret(clientId: string, secret: string, atMs = nowMs()): Promise<boolean> {
  const client = await loadClient(bindings.DB, clientId);
  return matchesClientSecret(bindings, secret, client?.secrets ?? [], atMs);
}

/** Everything that an admin call may change in D1, as text. */
export async function dumpDatabase(): Promise<string> {
  const tables = [
    "clients",
    "client_secrets",
    "users",
    "user_roles",
    "user_groups",
    "user_passwords",
    "group_roles",
    "role_permissions",
    "control_changes",
    "admin_events",
    "shard_generations",
  ];
  const rows = await bindings.DB.batch(tables.map((table) => bindings.DB.prepare(`SELECT * FROM ${table}`)));
  return JSON.stringify(rows.map((row, index) => [tables[index], row.results]));
}
