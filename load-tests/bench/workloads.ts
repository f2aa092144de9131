import { basicAuthorization } from "../../packages/edge-op/src/provider-api.ts";
import { DpopProofs } from "../lib/dpop-proofs.ts";
import { findRuntime, pinApart } from "../lib/process-time.ts";
import type { SeedClient } from "../lib/seed-file.ts";
import { type ProviderOptions, type StartedProvider, startProvider } from "../lib/start-provider.ts";
import { type Recipe, recipesFor } from "../seed/make-seeds.ts";
import { type Cast, createCast } from "../seed/provision.ts";
import { expectStatus, formatRequest, type Target } from "./connection.ts";
import type { Needs } from "./floors.ts";
import { type IdJagSeeds, prepareIdJags } from "./id-jag.ts";

export interface Workload {
  readonly name: string;
  readonly worker: "op" | "op-token" | "op-management" | "op-userinfo";
  /** The unavoidable work of a warm request, which its floor also does. */
  readonly needs: Needs;
  target(origin: string): Target;
}

export const topologies = ["front door", "own socket"] as const;

export type Topology = (typeof topologies)[number];

/** The address of a Worker in a topology. Separate sockets exist if the provider was started with `direct`. */
export function originOf(provider: StartedProvider, topology: Topology, worker: string): string {
  return topology === "front door" ? provider.origin : provider.direct[worker]!;
}

/** `only` contains comma-separated names, as in `--only`; empty means all. */
export function wantedOf(workloads: readonly Workload[], only: string): readonly Workload[] {
  return workloads.filter(({ name }) => only === "" || only.split(",").includes(name));
}

const tokenCount = 200;
const peopleCount = 8;

async function makeSeeds(provider: StartedProvider, cast: Cast, families: number) {
  const tokens = await makeAll(tokenCount, 20, recipesFor("userinfo", provider.origin, cast).valid!);
  const family = (scope: string, client: "web" | "web-es256") =>
    makeAll(families, 8, recipesFor("refresh", provider.origin, cast, { scope, client }).family!);
  // Without openid, a refresh signs once.
  const plain = await family("profile offline_access", "web");
  const rs256 = await family("openid profile offline_access", "web");
  const es256 = await family("openid profile offline_access", "web-es256");
  const proofs = new DpopProofs(cast.issuer);
  const bound = { proofs };
  const usual = { scope: "profile offline_access", client: "web" } as const;
  const boundTokens = recipesFor("userinfo", provider.origin, cast, usual, bound).valid!;
  const boundFamily = recipesFor("refresh", provider.origin, cast, usual, bound).family!;
  const dpop: DpopSeeds = {
    proofs,
    tokens: await makeAll(tokenCount, 20, boundTokens),
    family: { client: cast.clients.web, tokens: await makeAll(families, 8, boundFamily) },
  };
  const { web, "web-es256": webEs256 } = cast.clients;
  const refresh: RefreshSeeds = {
    plain: { client: web, tokens: plain },
    rs256: { client: web, tokens: rs256 },
    es256: { client: webEs256, tokens: es256 },
  };
  return { tokens, refresh, dpop };
}

async function makeAll(count: number, atOnce: number, recipe: Recipe): Promise<string[]> {
  const made: string[] = [];
  while (made.length < count) {
    const batch = Array.from({ length: Math.min(atOnce, count - made.length) }, (_, index) =>
      recipe.make(made.length + index),
    );
    made.push(...(await Promise.all(batch)).map(({ token }) => token!));
  }
  return made;
}

interface Families {
  readonly client: SeedClient;
  /** One token per connection, replaced as they rotate. */
  readonly tokens: string[];
}

/** Refresh tokens of sign-ins without an ID token, and with one of each algorithm. */
export type RefreshSeeds = Readonly<Record<"plain" | "rs256" | "es256", Families>>;

/** The seeds of a client whose tokens are bound to a key (RFC 9449). */
export interface DpopSeeds {
  readonly proofs: DpopProofs;
  /** Access tokens of users that are bound to the key. */
  readonly tokens: readonly string[];
  /** Families whose refreshes must prove the key. */
  readonly family: Families;
}

/** The parts from which requests are built. */
export interface WorkloadSeeds {
  readonly clients: Readonly<Record<"introspecting" | "exchanging" | "own", SeedClient>>;
  /** Access tokens of users. */
  readonly tokens: readonly string[];
  readonly refresh: RefreshSeeds;
  /** Only for this provider. */
  readonly idJag?: IdJagSeeds;
  /** Without them, the rows for bound tokens are omitted. */
  readonly dpop?: DpopSeeds;
}

export async function prepareSeeds(provider: StartedProvider, connections: number): Promise<WorkloadSeeds> {
  const cast = await createCast(provider, peopleCount);
  const { resource, gateway, "service-bff": own } = cast.clients;
  const clients = { introspecting: resource, exchanging: gateway, own };
  const [seeds, idJag] = [await makeSeeds(provider, cast, connections), await prepareIdJags(provider, cast)];
  return { clients, ...seeds, idJag };
}

/** A provider under load, also on the separate sockets of its Workers, with its workloads. */
export interface Server {
  readonly provider: StartedProvider;
  readonly processId: number | undefined;
  /** Whether its runtime is pinned to one core and this process to another. */
  readonly isPinned: boolean;
  readonly workloads: readonly Workload[];
}

export async function startServer(
  options: Omit<ProviderOptions, "direct">,
  connections: number,
  checkout?: string,
): Promise<Server> {
  const provider = await startProvider({ ...options, direct: true }, checkout);
  const processId = findRuntime(provider.processId);
  const isPinned = pinApart(processId);
  return { provider, processId, isPinned, workloads: workloadsOf(await prepareSeeds(provider, connections)) };
}

export function workloadsOf({ clients, tokens, refresh, dpop, idJag }: WorkloadSeeds): Workload[] {
  let turn = 0;
  const nextToken = () => tokens[turn++ % tokens.length]!;
  const posting = (
    name: string,
    worker: Workload["worker"],
    needs: Needs,
    path: string,
    client: SeedClient,
    form: () => string,
    mustHold: string,
    more: () => Readonly<Record<string, string>> = () => ({}),
  ): Workload => ({
    name,
    worker,
    needs,
    target: (origin) => ({
      origin,
      next: () => formatRequest(origin, path, { ...authorize(client), ...more() }, form()),
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
      // Among the sixteen that the copy of a client describes.
      audience: "https://api.example.com/catalog",
      scope: "openid profile",
    }).toString();
  const boundRows = ({ proofs, tokens: bound, family }: DpopSeeds): Workload[] => {
    const nextBound = () => bound[turn++ % bound.length]!;
    const proof = () => ({ DPoP: proofs.make("POST", "/token") });
    const introspection = () => `token=${nextBound()}`;
    const { introspecting, exchanging } = clients;
    return [
      posting("introspect (DPoP)", "op-management", "nothing", "/introspect", introspecting, introspection, '"jkt"'),
      {
        name: "userinfo (DPoP)",
        worker: "op-userinfo",
        needs: "GET of nothing",
        target: (origin) => ({
          origin,
          next: () => {
            const token = nextBound();
            const headers = { Authorization: `DPoP ${token}`, DPoP: proofs.make("GET", "/userinfo", token) };
            return formatRequest(origin, "/userinfo", headers);
          },
          check: (_, status, body) => expectStatus("userinfo (DPoP)", status, body),
        }),
      },
      posting("exchange (DPoP)", "op-token", "signature", "/token", exchanging, exchangeForm, '"DPoP"', proof),
      refreshing("refresh (DPoP)", "write and signature", family, proof),
    ];
  };
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
      needs: "GET of nothing",
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
    ...(idJag === undefined
      ? []
      : [posting("ID-JAG", "op-token", "write and signature", "/token", idJag.client, idJag.form, '"access_token"')]),
    ...(dpop === undefined ? [] : boundRows(dpop)),
    refreshing("refresh", "write and signature", refresh.plain),
    refreshing("refresh, ES256 ID token", "write and 2 signatures", refresh.es256),
    refreshing("refresh, RS256 ID token", "write, signature and RSA signature", refresh.rs256),
    reading("discovery", "/.well-known/openid-configuration", '"issuer"'),
    reading("jwks", "/jwks", '"keys"'),
  ];
}

function authorize(client: SeedClient): Readonly<Record<string, string>> {
  return { Authorization: basicAuthorization(client) };
}

function refreshing(
  name: string,
  needs: Needs,
  { client, tokens }: Families,
  more: () => Readonly<Record<string, string>> = () => ({}),
): Workload {
  return {
    name,
    worker: "op-token",
    needs,
    target: (origin) => ({
      origin,
      next: (connection) =>
        formatRequest(
          origin,
          "/token",
          { ...authorize(client), ...more() },
          `grant_type=refresh_token&refresh_token=${tokens[connection]!}`,
        ),
      check: (connection, status, body) => {
        expectStatus(name, status, body);
        const { refresh_token, id_token } = JSON.parse(body) as { refresh_token: string; id_token?: string };
        if ((id_token !== undefined) !== name.includes("ID token")) throw new Error(`${name}: ${body.slice(0, 200)}`);
        tokens[connection] = refresh_token;
      },
    }),
  };
}

/** The workload for a document that the front door itself serves. */
function reading(name: string, path: string, mustHold: string): Workload {
  return {
    name,
    worker: "op",
    needs: "document",
    target: (origin) => {
      const request = formatRequest(origin, path, {});
      return {
        origin,
        next: () => request,
        check: (_, status, body) => {
          expectStatus(name, status, body);
          if (!body.includes(mustHold)) throw new Error(`${name} answered ${body.slice(0, 200)}`);
        },
      };
    },
  };
}
