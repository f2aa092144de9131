import { generateKeyPairSync, randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { clientDocumentPath } from "../../packages/demo-rp/src/start-demo-rp.ts";
import {
  AdminApi,
  ApiError,
  basicAuthorization,
  type Credentials,
  postForm,
} from "../../packages/local-provider/src/provider-api.ts";
import {
  type DemoClient,
  type DemoClientName,
  type DemoResources,
  type DemoUser,
  demoClients,
  demoResource,
  demoRoles,
  demoUsers,
} from "./demo.ts";

export interface DevClient {
  readonly client_id: string;
  /** Empty for a public client. */
  readonly client_secret: string;
  readonly private_jwk?: JsonWebKey;
  readonly scope: string;
  readonly audiences: readonly string[];
  readonly redirect_uris?: readonly string[];
}

export interface DevUser {
  readonly sub: string;
  readonly username: string;
  readonly password: string;
}

/** The contents of `.op/dev.json`. */
export interface DevFile {
  readonly issuer: string;
  readonly admin: Credentials;
  readonly clients: Readonly<Record<DemoClientName, DevClient>>;
  readonly users: Readonly<Record<keyof typeof demoUsers, DevUser>>;
  readonly resources: DemoResources;
  /** The URL of the metadata document of an MCP client, which the demo application serves. */
  readonly client_document: string;
}

interface Provider {
  readonly origin: string;
  readonly issuer: string;
  readonly admin: Credentials;
}

/**
 * **Registers the demo through the public and admin API**, and writes the registrations to `.op/dev.json` (0600). It runs at every start: existing
 * registrations that work are kept; missing or changed ones are restored.
 */
export async function seedDemo(
  provider: Provider,
  path: string,
  relyingParty: string,
  resources: DemoResources,
): Promise<DevFile> {
  const known = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Partial<DevFile>) : {};
  const admin = new AdminApi(provider.origin, provider.admin);
  await mapValues(demoRoles, (permissions, role) => registerRole(admin, role, permissions));
  const clients = await mapValues<DemoClientName, DemoClient, DevClient>(demoClients(relyingParty), (client, name) =>
    registerClient(provider.origin, admin, `demo-${name.replaceAll("_", "-")}`, client, known.clients?.[name]),
  );
  await Promise.all([
    registerResource(admin, "Notes (MCP)", resources.mcp),
    registerResource(admin, "Notes (API)", resources.api),
  ]);
  const users = await mapValues(demoUsers, (user) => registerUser(admin, user));
  const client_document = relyingParty + clientDocumentPath;
  const file: DevFile = { issuer: provider.issuer, admin: provider.admin, clients, users, resources, client_document };
  writeFileSync(path, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  return file;
}

async function mapValues<Name extends string, From, To>(
  values: Readonly<Record<Name, From>>,
  map: (value: From, name: Name) => Promise<To>,
): Promise<Record<Name, To>> {
  const entries = Object.entries(values) as [Name, From][];
  const mapped = await Promise.all(entries.map(async ([name, value]) => [name, await map(value, name)] as const));
  return Object.fromEntries(mapped) as Record<Name, To>;
}

async function registerClient(
  origin: string,
  admin: AdminApi,
  clientId: string,
  demo: DemoClient,
  known: DevClient | undefined,
): Promise<DevClient> {
  const privateJwk = demo.hasKey === true ? (known?.private_jwk ?? generateKey()) : undefined;
  const metadata = {
    ...demo.metadata,
    ...(privateJwk === undefined ? {} : { jwks: { keys: [publicPart(privateJwk)] } }),
    status: "active",
  };
  const created = await upsert(admin, `/clients/${clientId}`, { ...metadata, client_id: clientId }, metadata);
  const { scope = "", audiences = [], redirect_uris } = demo.metadata;
  return {
    client_id: clientId,
    client_secret:
      demo.metadata.token_endpoint_auth_method === "none"
        ? ""
        : await liveSecret(origin, admin, clientId, created?.client_secret ?? known?.client_secret),
    ...(privateJwk === undefined ? {} : { private_jwk: privateJwk }),
    scope,
    audiences,
    ...(redirect_uris === undefined ? {} : { redirect_uris }),
  };
}

/** The known secret if it still works, otherwise a new one. */
async function liveSecret(origin: string, admin: AdminApi, clientId: string, known: unknown): Promise<string> {
  if (typeof known === "string") {
    const authorization = basicAuthorization({ client_id: clientId, client_secret: known });
    const response = await postForm(`${origin}/introspect`, { token: "none" }, { authorization });
    if (response.status === 200) return known;
    if (response.status !== 401) throw new ApiError(`trying the secret of ${clientId}`, response);
  }
  const secret = await admin.require("POST", `/clients/${clientId}/secrets`, { overlap_seconds: 0 });
  return String(secret.client_secret);
}

async function registerRole(admin: AdminApi, role: string, permissions: readonly string[]): Promise<void> {
  const found = await admin.call("GET", `/roles/${role}`);
  if (!contains(found.body, { permissions })) await admin.require("PUT", `/roles/${role}`, { permissions });
}

/** The id contains the port, because an identifier cannot change and `PORT` can. */
async function registerResource(admin: AdminApi, name: string, identifier: string): Promise<void> {
  const id = `demo-${new URL(identifier).port}`;
  const wanted = { ...demoResource, name };
  await upsert(admin, `/resources/${id}`, { ...wanted, resource_id: id, identifier }, wanted);
}

async function registerUser(admin: AdminApi, demo: DemoUser): Promise<DevUser> {
  const { username, password, claims, roles, groups } = demo;
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
  if (found.status === 404) return admin.require("POST", path.slice(0, path.lastIndexOf("/")), creation);
  if (found.status !== 200) throw new ApiError(`GET /admin${path}`, found);
  if (!contains(found.body, wanted)) await admin.require("PATCH", path, wanted);
  return undefined;
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
