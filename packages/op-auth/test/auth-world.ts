import { env } from "cloudflare:workers";
import type { ClientMetadata } from "@edge-op/shared/directory/client";
import { savePassword } from "@edge-op/shared/directory/credentials";
import type { TokenTargets } from "@edge-op/shared/directory/policy-list";
import { hashPassword } from "@edge-op/shared/secrets/password-hash";
import { call, type FormFields, origin } from "../../../test/support/call.ts";
import { type SeededClient, seedClient, seedUser } from "../../../test/support/seed.ts";
import { createApp } from "../src/app.ts";
import type { AuthEnv } from "../src/auth-env.ts";
import { createIsolate } from "../src/isolate.ts";

/** **One deployment with a person, an application and browsers**, seen through one isolate of op-auth. */
export const authEnv = env as unknown as AuthEnv;

export const redirectUri = "https://app.example.com/callback";
export const password = "correct horse battery staple";
/** RFC 7636 appendix B. */
export const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
export const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/** Hashing takes 100 ms; the hash is the same in every test. */
let passwordHash: string | undefined;

/** What a redemption presents of a client whose tokens may be for anything. */
export const anyTarget: TokenTargets = { audiences: ["*"], issuer: origin, openid: true };

export const codeClient: Partial<ClientMetadata> = {
  client_name: "Example App",
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  redirect_uris: [redirectUri],
  scope: "openid profile email offline_access read",
};

export class AuthWorld {
  readonly isolate = createIsolate();
  readonly app = createApp(this.isolate);
  readonly client: SeededClient;

  constructor(client: SeededClient) {
    this.client = client;
  }

  browser(bindings: AuthEnv = authEnv): Browser {
    return new Browser(this, bindings);
  }
}

export async function createAuthWorld(metadata: Partial<ClientMetadata> = {}): Promise<AuthWorld> {
  passwordHash ??= await hashPassword(password);
  const claims = { name: "Alice Example", email: "alice@example.com", email_verified: true };
  await seedUser(authEnv, "alice", { claims });
  await seedUser(authEnv, "bob");
  await seedUser(authEnv, "mallory", { status: "suspended" });
  await authEnv.DB.batch(["alice", "bob", "mallory"].map((sub) => savePassword(authEnv.DB, sub, passwordHash!, 0)));
  return new AuthWorld(await seedClient(authEnv, "app", { ...codeClient, ...metadata }));
}

export type AuthorizationParameters = Readonly<Record<string, string | undefined>>;

/** A valid request; `undefined` drops a parameter. */
export function authorizationPath(parameters: AuthorizationParameters = {}, path = "/authorize"): string {
  return `${path}?${authorizationQuery(parameters)}`;
}

export function authorizationQuery(parameters: AuthorizationParameters = {}): URLSearchParams {
  const all: AuthorizationParameters = {
    response_type: "code",
    client_id: "app",
    redirect_uri: redirectUri,
    scope: "openid profile",
    state: "the-state",
    nonce: "the-nonce",
    code_challenge: challenge,
    code_challenge_method: "S256",
    ...parameters,
  };
  const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return new URLSearchParams(given);
}

/** **A browser as far as servers see one**: keeps cookies, follows nothing by itself. */
export class Browser {
  readonly cookies = new Map<string, string>();
  readonly #world: AuthWorld;
  readonly #bindings: AuthEnv;

  constructor(world: AuthWorld, bindings: AuthEnv) {
    this.#world = world;
    this.#bindings = bindings;
  }

  async send(path: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = new Headers(init.headers);
    if (cookie !== "") headers.set("cookie", cookie);
    const response = await call(this.#world.app, this.#bindings, path, { ...init, headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const [name = "", value = ""] = pair.split("=");
      if (line.includes("Max-Age=0")) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }

  get(path: string): Promise<Response> {
    return this.send(path);
  }

  post(path: string, fields: FormFields): Promise<Response> {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const pairs = Object.entries(fields).flatMap(([name, value]) =>
      [value].flat().map((item) => [name, item as string]),
    );
    return this.send(path, { method: "POST", headers, body: new URLSearchParams(pairs).toString() });
  }

  /** Submits the form of a page that has this button or field, with its hidden fields. */
  async submit(page: string, fields: FormFields): Promise<Response> {
    const html = await (await this.get(page)).text();
    return this.post(page, { form_token: formTokenOf(html), ...fields });
  }

  authorize(parameters: AuthorizationParameters = {}): Promise<Response> {
    return this.get(authorizationPath(parameters));
  }

  /** From a redirect to the sign-in page to whatever comes after it. */
  signIn(page: string, username = "alice", secret = password): Promise<Response> {
    return this.submit(page, { username, password: secret });
  }

  allow(page: string): Promise<Response> {
    return this.submit(page, { decision: "allow" });
  }

  /** Signs in and consents; the parameters that the client is sent. */
  async signInWhole(parameters: AuthorizationParameters = {}): Promise<URLSearchParams> {
    let response = await this.authorize(parameters);
    for (let step = 0; step < 4; step += 1) {
      const location = locationOf(response);
      if (!location.startsWith("/interaction/")) return new URL(location).searchParams;
      response = location.endsWith("/sign-in") ? await this.signIn(location) : await this.allow(location);
    }
    throw new Error("no end of pages");
  }
}

export function locationOf(response: Response): string {
  const location = response.headers.get("location");
  if (response.status !== 303 || location === null) throw new Error(`no redirect: ${response.status}`);
  return location;
}

export function formTokenOf(html: string): string {
  const token = /name="form_token" value="([^"]+)"/.exec(html)?.[1];
  if (token === undefined) throw new Error("no form on the page");
  return token;
}

/** Parameters of a redirect to the client. */
export function sentToClient(response: Response, uri = redirectUri): Record<string, string> {
  const location = locationOf(response);
  if (!location.startsWith(uri)) throw new Error(`sent to ${location}`);
  return Object.fromEntries(new URL(location).searchParams);
}

export { origin };
