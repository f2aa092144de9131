import { randomUUID } from "node:crypto";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import {
  AdminApi,
  basicAuthorization,
  type Credentials,
  postForm,
  type Reply,
} from "../../../packages/local-provider/src/provider-api.ts";

/**
 * **Who takes part in a test**: clients and users made for it alone through the admin API, so that files can share a
 * provider, and what they send.
 */
export interface ProviderAddress {
  readonly origin: string;
  readonly issuer: string;
  readonly admin: Credentials;
}

export interface TestClient extends Credentials {
  /** `Authorization` header of `client_secret_basic`. */
  readonly authorization: string;
}

export interface KeyedClient extends TestClient {
  readonly privateKey: CryptoKey;
}

export const api = "https://api.example.com";
export const otherApi = "https://reports.example.com";

export const grantTypes = {
  tokenExchange: "urn:ietf:params:oauth:grant-type:token-exchange",
  jwtBearer: "urn:ietf:params:oauth:grant-type:jwt-bearer",
} as const;

export const tokenTypes = {
  accessToken: "urn:ietf:params:oauth:token-type:access_token",
  idToken: "urn:ietf:params:oauth:token-type:id_token",
  jwt: "urn:ietf:params:oauth:token-type:jwt",
  refreshToken: "urn:ietf:params:oauth:token-type:refresh_token",
} as const;

export const everyScope = "openid profile email address phone roles groups permissions";

export class Actors {
  readonly admin: AdminApi;
  readonly origin: string;
  readonly issuer: string;

  constructor({ origin, issuer, admin }: ProviderAddress) {
    this.origin = origin;
    this.issuer = issuer;
    this.admin = new AdminApi(origin, admin);
  }

  /** A client; by default a service with `read write` at {@link api}. */
  async client(metadata: Readonly<Record<string, unknown>> = {}): Promise<TestClient> {
    const created = await this.admin.require("POST", "/clients", {
      grant_types: ["client_credentials"],
      scope: "read write",
      audiences: [api],
      ...metadata,
    });
    const credentials = { client_id: String(created["client_id"]), client_secret: String(created["client_secret"]) };
    return { ...credentials, authorization: basicAuthorization(credentials) };
  }

  /** A client that may exchange anybody's tokens for anything. */
  exchanger(
    policy: Readonly<Record<string, unknown>> = {},
    metadata: Readonly<Record<string, unknown>> = {},
  ): Promise<TestClient> {
    return this.client({
      grant_types: ["client_credentials", grantTypes.tokenExchange],
      scope: `read write ${everyScope}`,
      audiences: [api, otherApi],
      token_exchange: {
        subject_clients: ["*"],
        audiences: ["*"],
        resources: ["*"],
        scopes: ["*"],
        modes: ["delegation", "impersonation"],
        ...policy,
      },
      ...metadata,
    });
  }

  /** A client that may introspect every token. */
  resourceServer(): Promise<TestClient> {
    return this.client({ introspection: { clients: ["*"] } });
  }

  /** A client that may assert any user, with the key it does it with. */
  async asserter(
    metadata: Readonly<Record<string, unknown>> = {},
    policy: Readonly<Record<string, unknown>> = {},
  ): Promise<KeyedClient> {
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256" };
    const client = await this.client({
      grant_types: ["client_credentials", grantTypes.jwtBearer],
      scope: `read write ${everyScope}`,
      jwt_bearer: { subjects: ["*"], scopes: ["*"], ...policy },
      jwks: { keys: [jwk] },
      ...metadata,
    });
    return { ...client, privateKey };
  }

  /** A user with claims, roles and groups; answers their `sub`. */
  async user(properties: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const created = await this.admin.require("POST", "/users", { username: `user-${randomUUID()}`, ...properties });
    return String(created["sub"]);
  }

  token(client: TestClient, form: Readonly<Record<string, string>> | URLSearchParams): Promise<Reply> {
    return postForm(`${this.origin}/token`, form, { authorization: client.authorization });
  }

  /** An access token of the client itself. */
  async clientToken(client: TestClient, form: Readonly<Record<string, string>> = {}): Promise<string> {
    return accessToken(await this.token(client, { grant_type: "client_credentials", ...form }));
  }

  /** `claims` override the valid ones; `undefined` drops one. */
  assertion(
    client: KeyedClient,
    sub: string,
    claims: JWTPayload = {},
    header: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    return new SignJWT({
      iss: client.client_id,
      sub,
      aud: this.issuer,
      iat: now,
      exp: now + 60,
      jti: randomUUID(),
      ...claims,
    })
      .setProtectedHeader({ alg: "ES256", kid: "k1", ...header })
      .sign(client.privateKey);
  }

  /** An access token of a user, by a client that may assert them. */
  async userToken(client: KeyedClient, sub: string, form: Readonly<Record<string, string>> = {}): Promise<string> {
    const assertion = await this.assertion(client, sub);
    return accessToken(
      await this.token(client, { grant_type: grantTypes.jwtBearer, assertion, scope: "openid read", ...form }),
    );
  }

  exchange(
    client: TestClient,
    subjectToken: string,
    form: Readonly<Record<string, string>> = {},
    repeated: readonly (readonly [string, string])[] = [],
  ): Promise<Reply> {
    const parameters = new URLSearchParams({
      grant_type: grantTypes.tokenExchange,
      subject_token: subjectToken,
      subject_token_type: tokenTypes.accessToken,
      ...form,
    });
    for (const [name, value] of repeated) parameters.append(name, value);
    return this.token(client, parameters);
  }

  introspect(client: TestClient, token: string, form: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return postForm(`${this.origin}/introspect`, { token, ...form }, { authorization: client.authorization });
  }

  async isActive(client: TestClient, token: string): Promise<boolean> {
    const reply = await this.introspect(client, token);
    if (reply.status !== 200) throw new Error(`introspection: ${reply.status} ${reply.text}`);
    return reply.body["active"] === true;
  }

  revoke(client: TestClient, token: string, form: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return postForm(`${this.origin}/revoke`, { token, ...form }, { authorization: client.authorization });
  }

  userinfo(token: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.origin}/userinfo`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, ...init.headers },
    });
  }
}

/** The access token of a successful reply. */
export function accessToken(reply: Reply): string {
  if (reply.status !== 200) throw new Error(`token: ${reply.status} ${reply.text}`);
  return String(reply.body["access_token"]);
}

/** What a JWT says, unverified. */
export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;
}

export function headerOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()) as Record<string, unknown>;
}
