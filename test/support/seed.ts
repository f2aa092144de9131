import { macClientSecret } from "../../packages/shared/src/client-auth/client-secret.ts";
import type { ClientMetadata } from "../../packages/shared/src/directory/client.ts";
import type { UserClaims } from "../../packages/shared/src/directory/user.ts";
import type { MasterKeyBindings } from "../../packages/shared/src/secrets/master-key.ts";

/** **Rows that tests of one Worker start from**, written as set-up would write them: the admin API is another Worker's. */
export interface SeededClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** `undefined` takes a member out. */
export type MetadataOverrides = { readonly [Name in keyof ClientMetadata]?: ClientMetadata[Name] | undefined };

type SeedBindings = MasterKeyBindings & { readonly DB: D1Database };

const leastMetadata: ClientMetadata = {
  token_endpoint_auth_method: "client_secret_basic",
  grant_types: ["client_credentials"],
  response_types: [],
  redirect_uris: [],
  scope: "read write",
  audiences: ["https://api.example.com"],
};

export async function seedClient(
  env: SeedBindings,
  clientId: string,
  metadata: MetadataOverrides = {},
): Promise<SeededClient> {
  const clientSecret = `secret-of-${clientId}`;
  await env.DB.batch([
    env.DB.prepare(
      "INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms) VALUES (?1, ?2, 0, 0)",
    ).bind(clientId, JSON.stringify({ ...leastMetadata, ...metadata })),
    env.DB.prepare("INSERT INTO client_secrets (id, client_id, mac, created_at_ms) VALUES (?1, ?1, ?2, 0)").bind(
      clientId,
      await macClientSecret(env, clientSecret),
    ),
  ]);
  return { clientId, clientSecret };
}

export async function seedUser(
  env: Pick<SeedBindings, "DB">,
  sub: string,
  options: {
    readonly status?: "active" | "suspended";
    readonly claims?: UserClaims;
    readonly roles?: readonly string[];
    readonly groups?: readonly string[];
  } = {},
): Promise<void> {
  const { status = "active", claims = {}, roles = [], groups = [] } = options;
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO users (sub, username, username_key, status, claims, created_at_ms, updated_at_ms)
         VALUES (?1, ?1, lower(?1), ?2, ?3, 0, 0)`,
    ).bind(sub, status, JSON.stringify(claims)),
    ...roles.map((role) => env.DB.prepare("INSERT INTO user_roles (sub, role) VALUES (?1, ?2)").bind(sub, role)),
    ...groups.map((group) =>
      env.DB.prepare("INSERT INTO user_groups (sub, group_name) VALUES (?1, ?2)").bind(sub, group),
    ),
  ]);
}
