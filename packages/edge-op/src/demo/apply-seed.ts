import { generateKeyPairSync, randomUUID } from "node:crypto";
import { AdminApi, ApiError, basicAuthorization, type Credentials, postForm } from "../provider-api.ts";
import { SeedError } from "./read-seed-file.ts";
import type { Seed, SeedClient, SeededClient, SeededUser, SeedUser } from "./seed.ts";

export interface SeededProvider {
  readonly origin: string;
  readonly admin: Credentials;
  /** Stores a secret of the seed; a change of the client follows. */
  setClientSecret(clientId: string, secret: string): Promise<void>;
}

export interface Seeded {
  readonly clients: Readonly<Record<string, SeededClient>>;
  readonly users: Readonly<Record<string, SeededUser>>;
}

/**
 * **Registers a seed through the public and admin API.** Existing registrations that work are kept; missing or changed ones are restored. `known`:
 * the registrations of an earlier run.
 */
export async function applySeed(
  provider: SeededProvider,
  seed: Seed,
  known: Readonly<Record<string, SeededClient>> = {},
): Promise<Seeded> {
  const admin = new AdminApi(provider.origin, provider.admin);
  const [users, clients] = await Promise.all([
    // Roles come first, because users have roles.
    mapValues(seed.roles, (permissions, role) => registerRole(admin, role, permissions)).then(() =>
      mapValues(seed.users, (user, username) => registerUser(admin, username, user)),
    ),
    mapValues(seed.clients, (client, id) => registerClient(provider, admin, id, client, known[id])),
    mapValues(seed.resources, (resource, id) => registerResource(admin, id, resource)),
  ]);
  return { clients, users };
}

async function mapValues<From, To>(
  values: Readonly<Record<string, From>>,
  map: (value: From, name: string) => Promise<To>,
): Promise<Record<string, To>> {
  const mapped = await Promise.all(
    Object.entries(values).map(async ([name, value]) => [name, await map(value, name)] as const),
  );
  return Object.fromEntries(mapped);
}

async function registerClient(
  provider: SeededProvider,
  admin: AdminApi,
  clientId: string,
  client: SeedClient,
  known: SeededClient | undefined,
): Promise<SeededClient> {
  const privateJwk = client.hasKey === true ? (known?.private_jwk ?? generateKey()) : undefined;
  const metadata = {
    ...client.metadata,
    ...(privateJwk === undefined ? {} : { jwks: { keys: [publicPart(privateJwk)] } }),
    status: "active",
  };
  const created = await upsert(admin, `/clients/${clientId}`, { ...metadata, client_id: clientId }, metadata);
  const { scope = "", audiences = [], redirect_uris, token_endpoint_auth_method: method } = client.metadata;
  const hasSecret = method === undefined || String(method).startsWith("client_secret");
  return {
    client_id: clientId,
    client_secret: hasSecret
      ? await liveSecret(provider, admin, clientId, { own: client.client_secret, created, known })
      : "",
    ...(privateJwk === undefined ? {} : { private_jwk: privateJwk }),
    scope: String(scope),
    audiences: audiences as readonly string[],
    ...(redirect_uris === undefined ? {} : { redirect_uris: redirect_uris as readonly string[] }),
  };
}

interface KnownSecrets {
  readonly own: string | undefined;
  readonly created: { readonly client_secret?: unknown } | undefined;
  readonly known: { readonly client_secret?: unknown } | undefined;
}

/** The seed's secret; otherwise the known one if it still works, or a new one. */
async function liveSecret(
  provider: SeededProvider,
  admin: AdminApi,
  clientId: string,
  { own, created, known }: KnownSecrets,
): Promise<string> {
  if (own === undefined && created !== undefined) return String(created.client_secret);
  const wanted = own ?? known?.client_secret;
  if (created === undefined && typeof wanted === "string" && (await isLive(provider.origin, clientId, wanted)))
    return wanted;
  if (own !== undefined) {
    await provider.setClientSecret(clientId, own);
    // A change of the client makes every isolate discard its copy.
    await admin.require("PATCH", `/clients/${clientId}`, { status: "active" });
    return own;
  }
  const secret = await admin.require("POST", `/clients/${clientId}/secrets`, { overlap_seconds: 0 });
  return String(secret["client_secret"]);
}

async function isLive(origin: string, clientId: string, secret: string): Promise<boolean> {
  const authorization = basicAuthorization({ client_id: clientId, client_secret: secret });
  const response = await postForm(`${origin}/introspect`, { token: "none" }, { authorization });
  if (response.status !== 200 && response.status !== 401)
    throw new ApiError(`trying the secret of ${clientId}`, response);
  return response.status === 200;
}

async function registerRole(admin: AdminApi, role: string, permissions: readonly string[]): Promise<void> {
  const found = await admin.call("GET", `/roles/${role}`);
  if (contains(found.body, { permissions })) return;
  // Its users are made at the same time, by the same seed.
  await checked(`roles.${role}`, admin.require("PUT", `/roles/${role}`, { permissions, keep_holders: true }));
}

async function registerResource(admin: AdminApi, id: string, wanted: Readonly<Record<string, unknown>>): Promise<void> {
  const { identifier: _, ...changeable } = wanted;
  await upsert(admin, `/resources/${id}`, { ...wanted, resource_id: id }, changeable);
}

async function registerUser(admin: AdminApi, username: string, given: SeedUser): Promise<SeededUser> {
  const { password, claims = {}, roles = [], groups = [] } = given;
  const user = { username, claims, roles, groups, status: "active" };
  await upsert(admin, `/users/${username}`, { ...user, sub: username, password }, user);
  return { sub: username, username, password };
}

/** Creates a resource and returns it, or changes an existing one to match `wanted` and returns nothing. */
async function upsert(
  admin: AdminApi,
  path: string,
  creation: Readonly<Record<string, unknown>>,
  wanted: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown> | undefined> {
  const found = await admin.call("GET", path);
  const member = path.slice(1).replace("/", ".");
  if (found.status === 404)
    return checked(member, admin.require("POST", path.slice(0, path.lastIndexOf("/")), creation));
  if (found.status !== 200) throw new ApiError(`GET /admin${path}`, found);
  if (!contains(found.body, wanted)) await checked(member, admin.require("PATCH", path, wanted));
  return undefined;
}

/** A refusal is an error of the seed; its text is that of the admin API. */
async function checked<T>(member: string, change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    if (!(error instanceof ApiError) || error.response.status !== 400) throw error;
    throw new SeedError(`${member}: ${String(error.response.body["error_description"] ?? error.response.text)}`);
  }
}

/** Whether `actual` contains every member of `wanted`. */
function contains(actual: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return actual === wanted;
  if (typeof actual !== "object" || actual === null) return false;
  if (Array.isArray(wanted) && (!Array.isArray(actual) || actual.length !== wanted.length)) return false;
  return Object.entries(wanted).every(([name, value]) => contains((actual as Record<string, unknown>)[name], value));
}

function generateKey(): JsonWebKey {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), alg: "ES256" } as JsonWebKey;
}

function publicPart({ d: _, ...jwk }: JsonWebKey): JsonWebKey {
  return jwk;
}
