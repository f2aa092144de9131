import { basicAuthorization } from "../../packages/local-provider/src/provider-api.ts";
import type { SeedClient } from "../lib/seed-file.ts";
import type { StartedProvider } from "../lib/start-provider.ts";
import { recipesFor } from "../seed/make-seeds.ts";
import { type Cast, provideCast } from "../seed/provision.ts";
import { formatRequest, type Target } from "./closed-loop.ts";

/** **The requests that the bench sends**, with what their answers must be. Each endpoint names the Worker that serves it. */
export interface Workload {
  readonly name: string;
  readonly worker: "op-token" | "op-management" | "op-userinfo";
  /** What a warm request cannot leave out: its floor has it too. */
  readonly needs: Needs;
  target(origin: string): Target;
}

/** Without "signature" a warm request signs nothing; "write" is one durable write in an object. */
export type Needs = "nothing" | "signature" | "write and signature";

export const topologies = ["front door", "own socket"] as const;

/** Where a Worker answers in a topology; sockets of their own are there when the provider was started with `direct`. */
export function originOf(provider: StartedProvider, topology: (typeof topologies)[number], worker: string): string {
  return topology === "front door" ? provider.origin : provider.direct[worker]!;
}

/** `only`: names with commas between them, as `--only` gives them; all when empty. */
export function wantedOf(workloads: readonly Workload[], only: string): readonly Workload[] {
  return workloads.filter(({ name }) => only === "" || only.split(",").includes(name));
}

const tokenCount = 200;
const peopleCount = 8;

function expectStatus(name: string, status: number, body: string): void {
  if (status !== 200) throw new Error(`${name} answered ${status}: ${body.slice(0, 200)}`);
}

async function makeSeeds(provider: StartedProvider, cast: Cast, families: number) {
  const userinfo = recipesFor("userinfo", provider.origin, cast);
  // Without openid a refresh signs once: an ID token, RS256 by default, would cost more than all the rest.
  const refresh = recipesFor("refresh", provider.origin, cast, "profile offline_access");
  const tokens: string[] = [];
  for (let made = 0; made < tokenCount; made += 20) {
    const batch = await Promise.all(Array.from({ length: 20 }, (_, index) => userinfo.valid!.make(made + index)));
    tokens.push(...batch.map(({ token }) => token!));
  }
  const refreshTokens: string[] = [];
  for (let made = 0; made < families; made += 4) {
    const batch = await Promise.all(Array.from({ length: 4 }, (_, index) => refresh.family!.make(made + index)));
    refreshTokens.push(...batch.map(({ token }) => token!));
  }
  return { tokens, refreshTokens };
}

/** What the requests are made of, wherever it comes from. */
export interface WorkloadSeeds {
  readonly clients: Readonly<Record<"introspecting" | "exchanging" | "own" | "refreshing", SeedClient>>;
  /** Access tokens of users. */
  readonly tokens: readonly string[];
  /** One for each connection; replaced as they rotate. */
  readonly refreshTokens: string[];
}

export async function prepareWorkloads(
  provider: StartedProvider,
  castPath: string,
  connections: number,
): Promise<Workload[]> {
  const cast = await provideCast(provider, castPath, () => {}, peopleCount);
  const { resource, gateway, web, "service-bff": own } = cast.clients;
  const clients = { introspecting: resource, exchanging: gateway, own, refreshing: web };
  return workloadsOf({ clients, ...(await makeSeeds(provider, cast, connections)) });
}

export function workloadsOf({ clients, tokens, refreshTokens }: WorkloadSeeds): Workload[] {
  let turn = 0;
  const nextToken = () => tokens[turn++ % tokens.length]!;
  const authorization = (client: SeedClient) => ({ Authorization: basicAuthorization(client) });
  const posting = (
    name: string,
    worker: Workload["worker"],
    needs: Needs,
    path: string,
    client: SeedClient,
    form: () => string,
    mustHold: string,
  ): Workload => ({
    name,
    worker,
    needs,
    target: (origin) => ({
      origin,
      next: () => formatRequest(origin, path, authorization(client), form()),
      check: (_, status, body) => {
        expectStatus(name, status, body);
        if (!body.includes(mustHold)) throw new Error(`${name} answered ${body.slice(0, 200)}`);
      },
    }),
  });
  const exchangeForm = () =>
    new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: nextToken(),
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
      audience: "https://api.example.com/users",
      scope: "openid profile",
    }).toString();
  return [
    posting(
      "introspect",
      "op-management",
      "nothing",
      "/introspect",
      clients.introspecting,
      () => `token=${nextToken()}`,
      '"active":true',
    ),
    {
      name: "userinfo",
      worker: "op-userinfo",
      needs: "nothing",
      target: (origin) => ({
        origin,
        next: () => formatRequest(origin, "/userinfo", { Authorization: `Bearer ${nextToken()}` }),
        check: (_, status, body) => expectStatus("userinfo", status, body),
      }),
    },
    posting("exchange", "op-token", "signature", "/token", clients.exchanging, exchangeForm, '"access_token"'),
    posting(
      "client_credentials",
      "op-token",
      "signature",
      "/token",
      clients.own,
      () => "grant_type=client_credentials",
      '"access_token"',
    ),
    {
      name: "refresh",
      worker: "op-token",
      needs: "write and signature",
      target: (origin) => ({
        origin,
        next: (connection) =>
          formatRequest(
            origin,
            "/token",
            authorization(clients.refreshing),
            `grant_type=refresh_token&refresh_token=${refreshTokens[connection]!}`,
          ),
        check: (connection, status, body) => {
          expectStatus("refresh", status, body);
          refreshTokens[connection] = (JSON.parse(body) as { refresh_token: string }).refresh_token;
        },
      }),
    },
  ];
}

/** The floor's requests: as large as an introspection's, and what to do before the constant answer. */
export function floorTarget(origin: string, path: string, work: string): Target {
  const form = new URLSearchParams({ work, token: "t".repeat(600) }).toString();
  const request = formatRequest(origin, path, { Authorization: `Basic ${"c".repeat(80)}` }, form);
  return { origin, next: () => request, check: (_, status, body) => expectStatus(`floor ${work}`, status, body) };
}
