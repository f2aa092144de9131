import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import {
  type DemoClientName,
  type DemoResources,
  demoClients,
  demoResource,
  demoRoles,
  demoUsers,
} from "@edge-op/example-application/demo";
import { clientDocumentPath } from "@edge-op/example-application/start-demo-rp";
import { adminScopes } from "@edge-op/protocol/oauth/scope";
import { administratorRole } from "../administrators.ts";
import type { Credentials } from "../provider-api.ts";
import { applySeed, type SeededProvider } from "./apply-seed.ts";
import type { Seed, SeedClient, SeededClient, SeededUser } from "./seed.ts";

export interface DevFile {
  readonly issuer: string;
  readonly admin: Credentials;
  readonly clients: Readonly<Record<DemoClientName, SeededClient>>;
  readonly users: Readonly<Record<keyof typeof demoUsers, SeededUser>>;
  /** Signs in to the console. */
  readonly administrator: SeededUser;
  readonly resources: DemoResources;
  /** The URL of the metadata document of an MCP client, which the demo application serves. */
  readonly client_document: string;
}

/** The demo as a seed. Ids of resources contain the port: an identifier cannot change, but `PORT` can. */
export function demoSeed(relyingParty: string, resources: Partial<DemoResources> = {}): Seed {
  const clients = Object.entries<SeedClient>(demoClients(relyingParty)).map(
    ([name, client]) => [demoId(name), client] as const,
  );
  const names = { mcp: "Notes (MCP)", api: "Notes (API)" };
  const described = Object.entries(resources).map(([name, identifier]) => {
    const resource = { ...demoResource, identifier, name: names[name as keyof DemoResources] };
    return [`demo-${new URL(identifier).port}`, resource] as const;
  });
  return {
    clients: Object.fromEntries(clients),
    users: demoUsers,
    roles: demoRoles,
    resources: Object.fromEntries(described),
  };
}

/** Not with a password that others know: who reaches the port would administer the provider. It stays as long as the state. */
function demoAdministrator({ client_secret: secret }: Credentials) {
  const password = createHash("sha256").update(`administrator ${secret}`).digest("base64url").slice(0, 24);
  return { username: "maria", password, claims: { name: "Maria Miller" }, roles: [administratorRole] };
}

function demoId(name: string): string {
  return `demo-${name.replaceAll("_", "-")}`;
}

/**
 * **Registers the demo**, and writes the registrations to `.op/dev.json` (0600). It runs at every start: existing registrations that work are kept;
 * missing or changed ones are restored.
 */
export async function seedDemo<Resources extends Partial<DemoResources>>(
  provider: SeededProvider & { readonly issuer: string },
  path: string,
  relyingParty: string,
  resources: Resources,
): Promise<Omit<DevFile, "resources"> & { readonly resources: Resources }> {
  const known = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Partial<DevFile>) : {};
  const knownById = Object.values(known.clients ?? {}).map((client) => [client.client_id, client] as const);
  const demo = demoSeed(relyingParty, resources);
  const { username, ...administrator } = demoAdministrator(provider.admin);
  const seed = {
    ...demo,
    users: { ...demo.users, [username]: administrator },
    roles: { ...demo.roles, [administratorRole]: adminScopes },
  };
  const seeded = await applySeed(provider, seed, Object.fromEntries(knownById));
  const names = Object.keys(demoClients(relyingParty)) as DemoClientName[];
  const file = {
    issuer: provider.issuer,
    admin: provider.admin,
    clients: Object.fromEntries(names.map((name) => [name, seeded.clients[demoId(name)]!])) as DevFile["clients"],
    users: Object.fromEntries(Object.keys(demoUsers).map((name) => [name, seeded.users[name]!])) as DevFile["users"],
    administrator: seeded.users[username]!,
    resources,
    client_document: relyingParty + clientDocumentPath,
  };
  writeFileSync(path, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  return file;
}
