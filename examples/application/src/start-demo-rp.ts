import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createRemoteJWKSet, jwtVerify } from "jose";
import * as oidc from "openid-client";
import { type DemoUser, demoPage } from "./demo-page.ts";
import { forget, type Visit, Visits } from "./visits.ts";

export interface DemoRpOptions {
  readonly port: number;
  readonly issuer: string;
  readonly client: { readonly client_id: string; readonly client_secret: string };
  /** The demo's users, shown with their passwords. */
  readonly users?: readonly DemoUser[];
}

export interface DemoRp {
  readonly origin: string;
  stop(): Promise<void>;
}

/** The path of the metadata document of the demo's MCP client. With the application's origin, it is the client's `client_id`. */
export const clientDocumentPath = "/mcp-client.json";

/**
 * **A small relying party on openid-client**: authorization code with PKCE, refresh, silent sign-in, UserInfo, RP-initiated and back-channel logout.
 * It serves as a demo and in the browser tests.
 */
export async function startDemoRp({ port, issuer, client, users = [] }: DemoRpOptions): Promise<DemoRp> {
  const origin = `http://localhost:${port}`;
  const visits = new Visits();
  let config: oidc.Configuration | undefined;
  const provider = async () => {
    const authentication = oidc.ClientSecretBasic(client.client_secret);
    config ??= await oidc.discovery(new URL(issuer), client.client_id, undefined, authentication, {
      // The local provider uses http, which openid-client refuses by default.
      execute: issuer.startsWith("http:") ? [oidc.allowInsecureRequests] : [],
    });
    return config;
  };
  const server = createServer((request, response) => {
    const application = new Application({ origin, issuer, users, visits, provider, request, response });
    application.serve().catch((error: unknown) => {
      application.fail(describe(error));
    });
  });
  await listen(server, port);
  return { origin, stop: () => new Promise((resolve) => server.close(() => resolve())) };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
}

interface Exchange {
  readonly origin: string;
  readonly issuer: string;
  readonly users: readonly DemoUser[];
  readonly visits: Visits;
  readonly provider: () => Promise<oidc.Configuration>;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

class Application {
  readonly #origin: string;
  readonly #issuer: string;
  readonly #users: readonly DemoUser[];
  readonly #visits: Visits;
  readonly #provider: () => Promise<oidc.Configuration>;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #url: URL;

  constructor({ origin, issuer, users, visits, provider, request, response }: Exchange) {
    this.#origin = origin;
    this.#issuer = issuer;
    this.#users = users;
    this.#visits = visits;
    this.#provider = provider;
    this.#request = request;
    this.#response = response;
    this.#url = new URL(request.url ?? "/", origin);
  }

  async serve(): Promise<void> {
    switch (this.#url.pathname) {
      case "/":
        return this.#home();
      case "/login":
        return this.#signIn({ scope: "openid profile email" });
      case "/login-offline":
        return this.#signIn({ scope: "openid profile email offline_access", prompt: "consent" });
      case "/silent":
        return this.#signIn({ scope: "openid profile email", prompt: "none" });
      case "/reauthenticate":
        return this.#signIn({ scope: "openid profile email", max_age: "0" });
      case "/select-account":
        return this.#signIn({ scope: "openid profile email", prompt: "select_account" });
      case "/callback":
        return this.#callback();
      case "/refresh":
        return this.#refresh();
      case "/check":
        return this.#check();
      case "/logout":
        return this.#signOut();
      case clientDocumentPath:
        return this.#clientDocument();
      case "/backchannel-logout":
        return this.#backchannelLogout();
      default:
        this.#response.writeHead(404).end();
    }
  }

  fail(message: string): void {
    this.#visit().notice = message;
    this.#redirect("/");
  }

  #home(): void {
    const visit = this.#visit();
    const { claims, userinfo, refreshes, notice, tokens } = visit;
    visit.notice = undefined;
    const page = demoPage({
      ...{ claims, userinfo, refreshes, notice, scope: tokens?.scope, users: this.#users },
      hasRefreshToken: tokens?.refresh_token !== undefined,
      accountUrl: `${this.#issuer}/account`,
    });
    this.#response
      .writeHead(200, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" })
      .end(page);
  }

  /** @see https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document-02#section-4 */
  #clientDocument(): void {
    const document = {
      client_id: `${this.#origin}${clientDocumentPath}`,
      client_name: "Notes on the command line",
      redirect_uris: ["http://127.0.0.1/callback"],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native",
    };
    this.#response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
  }

  async #signIn(parameters: Record<string, string>): Promise<void> {
    const verifier = oidc.randomPKCECodeVerifier();
    const pending = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier };
    const maxAge = parameters.max_age === undefined ? undefined : Number(parameters.max_age);
    this.#visit().pending = { ...pending, maxAge };
    const url = oidc.buildAuthorizationUrl(await this.#provider(), {
      redirect_uri: `${this.#origin}/callback`,
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      ...parameters,
    });
    this.#redirect(url.href);
  }

  async #callback(): Promise<void> {
    const visit = this.#visit();
    const { pending } = visit;
    visit.pending = undefined;
    if (pending === undefined) return this.fail("No sign-in was under way.");
    const config = await this.#provider();
    const tokens = await oidc.authorizationCodeGrant(config, this.#url, {
      pkceCodeVerifier: pending.verifier,
      expectedState: pending.state,
      expectedNonce: pending.nonce,
      ...(pending.maxAge === undefined ? {} : { maxAge: pending.maxAge }),
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new Error("no ID token");
    visit.tokens = tokens;
    visit.claims = claims;
    visit.idToken = tokens.id_token;
    visit.refreshes = 0;
    visit.userinfo = await oidc.fetchUserInfo(config, tokens.access_token, claims.sub);
    this.#redirect("/");
  }

  async #refresh(): Promise<void> {
    const visit = this.#visit();
    const refreshToken = visit.tokens?.refresh_token;
    if (refreshToken === undefined) return this.fail("There is no refresh token.");
    const config = await this.#provider();
    visit.tokens = await oidc.refreshTokenGrant(config, refreshToken);
    visit.idToken = visit.tokens.id_token ?? visit.idToken;
    visit.refreshes += 1;
    this.#redirect("/");
  }

  /** Asks two endpoints, in two Workers, whether the access token still works. */
  async #check(): Promise<void> {
    const visit = this.#visit();
    const { tokens, claims } = visit;
    if (tokens === undefined || claims === undefined) return this.fail("There is no access token.");
    const config = await this.#provider();
    const [{ active }, userinfo] = await Promise.all([
      oidc.tokenIntrospection(config, tokens.access_token),
      oidc.fetchUserInfo(config, tokens.access_token, claims.sub).then(
        () => "accepted",
        () => "refused",
      ),
    ]);
    visit.notice = `The access token: ${active ? "active" : "not active"} at /introspect, ${userinfo} at /userinfo.`;
    this.#redirect("/");
  }

  async #signOut(): Promise<void> {
    const visit = this.#visit();
    const { idToken } = visit;
    forget(visit);
    const url = oidc.buildEndSessionUrl(await this.#provider(), {
      post_logout_redirect_uri: `${this.#origin}/`,
      ...(idToken === undefined ? {} : { id_token_hint: idToken }),
    });
    this.#redirect(url.href);
  }

  /** @see https://openid.net/specs/openid-connect-backchannel-1_0.html#Validation */
  async #backchannelLogout(): Promise<void> {
    let body = "";
    for await (const chunk of this.#request) body += String(chunk);
    const config = await this.#provider();
    const { issuer, jwks_uri: jwksUri } = config.serverMetadata();
    const token = new URLSearchParams(body).get("logout_token") ?? "";
    const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(jwksUri ?? "")), {
      issuer,
      audience: config.clientMetadata().client_id,
      typ: "logout+jwt",
    }).catch(() => ({ payload: undefined }));
    if (payload === undefined || payload.nonce !== undefined) {
      this.#response.writeHead(400).end();
      return;
    }
    for (const visit of this.#visits.ofSession(payload.sid)) {
      forget(visit);
      visit.notice = "You were signed out by the provider.";
    }
    this.#response.writeHead(200, { "cache-control": "no-store" }).end();
  }

  #visit(): Visit {
    return this.#visits.of(this.#request, this.#response);
  }

  #redirect(location: string): void {
    this.#response.writeHead(303, { location, "cache-control": "no-store" }).end();
  }
}

function describe(error: unknown): string {
  if (error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError) {
    return `${error.error}: ${error.error_description ?? ""}`;
  }
  return error instanceof Error ? error.message : String(error);
}
