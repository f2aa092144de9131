import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { type ClientKey, generateClientKey, signAssertion } from "../../../test/support/assertions.ts";
import { type FormFields, postForm } from "../../../test/support/call.ts";
import { type MetadataOverrides, type SeededClient, seedClient, seedUser } from "../../../test/support/seed.ts";
import { createApp } from "../src/app.ts";
import { createIsolate } from "../src/isolate.ts";
import type { TokenEnv } from "../src/token-env.ts";

/** **One deployment with an application, a user and services**, seen through one isolate of op-token. */
export const tokenEnv = env as unknown as TokenEnv;

export const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";
export const bearerGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
export const accessTokenType = "urn:ietf:params:oauth:token-type:access_token";

export class TokenWorld {
  readonly isolate = createIsolate();
  readonly app = createApp(this.isolate);
  readonly key: ClientKey;

  constructor(key: ClientKey) {
    this.key = key;
  }

  post(fields: FormFields, basic?: SeededClient, bindings: TokenEnv = tokenEnv): Promise<Response> {
    return postForm(this.app, bindings, "/token", fields, basic);
  }

  /** Posts and expects success; the response's JSON. */
  async issue(fields: FormFields, basic: SeededClient): Promise<Record<string, string>> {
    const response = await this.post(fields, basic);
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return response.json();
  }

  /** An access token of alice for the application, by an assertion of its own. */
  async userToken(app: SeededClient, fields: FormFields = {}, claims: Record<string, unknown> = {}): Promise<string> {
    const assertion = await signAssertion(this.key, app.clientId, { sub: "alice", ...claims });
    return (await this.issue({ grant_type: bearerGrant, assertion, ...fields }, app))["access_token"]!;
  }

  async clientToken(client: SeededClient): Promise<string> {
    return (await this.issue({ grant_type: "client_credentials" }, client))["access_token"]!;
  }

  exchange(client: SeededClient, subjectToken: string, fields: FormFields = {}): Promise<Response> {
    return this.post(
      { grant_type: exchangeGrant, subject_token: subjectToken, subject_token_type: accessTokenType, ...fields },
      client,
    );
  }
}

export async function createTokenWorld(): Promise<TokenWorld> {
  const key = await generateClientKey();
  await seedUser(tokenEnv, "alice", { roles: ["editor"], groups: ["staff"] });
  await seedUser(tokenEnv, "mallory", { status: "suspended" });
  return new TokenWorld(key);
}

/** An application that may assert alice. */
export function seedApplication(world: TokenWorld, clientId: string, metadata: MetadataOverrides = {}) {
  return seedClient(tokenEnv, clientId, {
    grant_types: ["client_credentials", bearerGrant],
    scope: "openid profile email read",
    jwks: { keys: [world.key.publicJwk] },
    jwt_bearer: { subjects: ["alice", "mallory"], scopes: ["openid", "profile", "email", "read"] },
    ...metadata,
  });
}

/** A service that may exchange the application's tokens for two audiences and two resources. */
export function seedService(clientId: string, metadata: MetadataOverrides = {}) {
  return seedClient(tokenEnv, clientId, {
    grant_types: ["client_credentials", exchangeGrant],
    scope: "call",
    token_exchange: {
      subject_clients: ["app"],
      audiences: ["https://api.example.com/payments", "https://api.example.com/orders"],
      resources: ["https://resource.example.com/api/v1", "https://data.example.com/graphql"],
      scopes: ["openid", "profile", "read"],
      modes: ["delegation", "impersonation"],
    },
    ...metadata,
  });
}

export async function errorOf(response: Response): Promise<string> {
  const body: { error: string } = await response.json();
  return `${response.status} ${body.error}`;
}

export function claimsOf(token: string): Record<string, unknown> {
  return decodeJwt(token);
}
