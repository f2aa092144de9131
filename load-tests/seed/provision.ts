import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { AdminApi } from "../../packages/edge-op/src/provider-api.ts";
import { newPrivateKey, publicKeyOf } from "../lib/node-jwt-signer.ts";
import { actorNames, type PrivateKey, type SeedClient } from "../lib/seed-file.ts";
import type { Deployment } from "../lib/start-provider.ts";
import { audiences } from "../lib/variations.ts";
import { inParallel } from "./in-parallel.ts";

export interface Cast {
  readonly tag: string;
  readonly issuer: string;
  /** The key for the assertions that obtain tokens for people. */
  readonly privateJwk: PrivateKey;
  readonly clients: Readonly<Record<CastName, SeedClient>>;
  readonly people: readonly Person[];
}

export type CastName =
  | ("app" | "short" | "gateway" | "resource" | "stranger" | "web" | "web-es256")
  | (typeof actorNames)[number];

export interface Person {
  readonly sub: string;
  readonly username: string;
  readonly password: string;
}

const userScopes = "openid profile email address phone";
export const redirectUri = "https://load.example.com/callback";
export const otherAudience = "https://other.example.com";
export const strangerAudience = "https://stranger.example.com";
const peopleByDefault = 100;

const grant = {
  exchange: "urn:ietf:params:oauth:grant-type:token-exchange",
  assertion: "urn:ietf:params:oauth:grant-type:jwt-bearer",
};

interface Named {
  readonly name: CastName;
  readonly metadata: Readonly<Record<string, unknown>>;
}

function metadataOf(tag: string, publicJwk: object): Named[] {
  const idOf = (name: CastName) => clientIdOf(name, tag);
  const asserting = {
    grant_types: [grant.assertion, "client_credentials"],
    scope: userScopes,
    jwks: { keys: [publicJwk] },
    jwt_bearer: { subjects: ["*"], scopes: ["*"] },
    audiences: [idOf("resource"), otherAudience, ...audiences],
  };
  const webClient = {
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    redirect_uris: [redirectUri],
    scope: `${userScopes} offline_access`,
    audiences: [audiences[0]],
    skip_consent: true,
  };
  return [
    { name: "app", metadata: { ...asserting, access_token_lifetime: 86_400 } },
    { name: "short", metadata: { ...asserting, access_token_lifetime: 1 } },
    {
      name: "gateway",
      metadata: {
        grant_types: [grant.exchange, "client_credentials"],
        scope: userScopes,
        audiences: [idOf("resource"), ...audiences],
        access_token_lifetime: 86_400,
        token_exchange: {
          subject_clients: ["app", "short", ...actorNames].map((name) => idOf(name as CastName)),
          audiences: ["*"],
          resources: ["*"],
          scopes: ["*"],
          modes: ["delegation", "impersonation"],
        },
      },
    },
    { name: "resource", metadata: { grant_types: ["client_credentials"], audiences: [idOf("resource")] } },
    { name: "stranger", metadata: { ...asserting, audiences: [strangerAudience], access_token_lifetime: 86_400 } },
    { name: "web", metadata: webClient },
    // ID tokens use RS256 by default, whose signature costs more than the rest of a refresh.
    { name: "web-es256", metadata: { ...webClient, id_token_signed_response_alg: "ES256" } },
    ...actorNames.map((name) => ({
      name,
      metadata: { grant_types: ["client_credentials"], audiences: [audiences[0]], access_token_lifetime: 86_400 },
    })),
  ];
}

function clientIdOf(name: CastName, tag: string): string {
  return `load-${name}-${tag}`;
}

/**
 * **Creates the clients and users of the seeds** through the admin API under their own names (`load-…-<tag>`), and stores them in a file, so that a
 * repeated or interrupted seeding finds them.
 */
export async function provideCast(deployment: Deployment, path: string, say: (line: string) => void): Promise<Cast> {
  const admin = new AdminApi(deployment.origin, deployment.admin);
  const known = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Cast) : undefined;
  if (known !== undefined && known.issuer === deployment.issuer && (await isKnown(admin, known))) return known;
  const cast = await createCast(deployment, peopleByDefault, say);
  writeFileSync(path, JSON.stringify(cast, null, 2), { mode: 0o600 });
  return cast;
}

async function isKnown(admin: AdminApi, cast: Cast): Promise<boolean> {
  const responses = await Promise.all([
    ...Object.values(cast.clients).map(({ client_id }) => admin.call("GET", `/clients/${client_id}`)),
    ...cast.people.slice(-1).map(({ sub }) => admin.call("GET", `/users/${sub}`)),
  ]);
  return responses.every(({ status }) => status === 200);
}

export async function createCast(
  deployment: Deployment,
  peopleCount: number,
  say: (line: string) => void = () => {},
): Promise<Cast> {
  const admin = new AdminApi(deployment.origin, deployment.admin);
  const tag = randomBytes(4).toString("hex");
  const privateJwk = newPrivateKey();
  const publicJwk = { ...publicKeyOf(privateJwk), kid: tag, alg: "ES256", use: "sig" };
  const clients: Partial<Record<CastName, SeedClient>> = {};
  for (const { name, metadata } of metadataOf(tag, publicJwk)) {
    const client_id = clientIdOf(name, tag);
    const body = {
      client_id,
      client_name: `Load test ${name}`,
      token_endpoint_auth_method: "client_secret_basic",
      ...metadata,
    };
    const created = await admin.require("POST", "/clients", body);
    clients[name] = {
      client_id,
      client_secret: String(created.client_secret),
      ...(name.startsWith("web") ? { redirect_uri: redirectUri } : {}),
    };
  }
  say(`${Object.keys(clients).length} clients`);
  const people = Array.from({ length: peopleCount }, (_, index): Person => {
    const name = `load-person-${tag}-${index}`;
    return { sub: name, username: name, password: randomBytes(12).toString("base64url") };
  });
  await inParallel(people, 8, async (person) => {
    const claims = {
      name: "Load Person",
      given_name: "Load",
      family_name: "Person",
      email: `${person.sub}@example.com`,
    };
    await admin.require("POST", "/users", { ...person, claims });
  });
  say(`${people.length} people`);
  return {
    tag,
    issuer: deployment.issuer,
    privateJwk,
    clients: clients as Record<CastName, SeedClient>,
    people,
  };
}
