import { randomBytes, randomUUID } from "node:crypto";
import { createRemoteJWKSet, type JWTPayload, type JWTVerifyResult, jwtVerify } from "jose";
import type { Reply } from "../../../packages/local-provider/src/provider-api.ts";
import type { Actors, TestClient } from "./actors.ts";
import type { Answers, Arrival, Person } from "./person.ts";

/**
 * **An application that people sign in to, by hand**: it may send what no library would, and sees what came back as it came.
 * `undefined` leaves a parameter out.
 */
export type Parameters = Readonly<Record<string, string | undefined>>;

export interface SignIn {
  /** The authorization response, from wherever the response mode put it. */
  readonly answer: URLSearchParams;
  /** The pages that were shown. */
  readonly pages: readonly string[];
  readonly nonce: string | undefined;
}

export interface Tokens {
  readonly accessToken: string;
  readonly idToken: string;
  readonly refreshToken: string | undefined;
  readonly claims: JWTPayload & { readonly auth_time?: number };
  readonly reply: Reply;
}

export const redirectUri = "https://app.example.com/callback";
export const goodbye = "https://app.example.com/goodbye";
export const allScopes = "openid profile email address phone offline_access";

/** Like a client of the certification suites: it leaves PKCE out unless a test is about it. */
export function applicationMetadata(more: Readonly<Record<string, unknown>> = {}) {
  return {
    client_name: "Conformance application",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    redirect_uris: [redirectUri],
    post_logout_redirect_uris: [goodbye],
    scope: allScopes,
    require_pkce: false,
    ...more,
  };
}

export class Application {
  readonly #actors: Actors;
  readonly #keys: ReturnType<typeof createRemoteJWKSet>;
  readonly #usual: Parameters;
  readonly client: TestClient;

  private constructor(actors: Actors, client: TestClient, usual: Parameters) {
    this.#actors = actors;
    this.#keys = createRemoteJWKSet(new URL(`${actors.origin}/jwks`));
    this.#usual = usual;
    this.client = client;
  }

  /** `usual` is sent with each authorization request unless it says otherwise. */
  static async register(
    actors: Actors,
    metadata: Readonly<Record<string, unknown>> = {},
    usual: Parameters = {},
  ): Promise<Application> {
    return new Application(actors, await actors.client(applicationMetadata(metadata)), usual);
  }

  authorizationUrl(parameters: Parameters = {}): URL {
    const url = new URL(`${this.#actors.issuer}/authorize`);
    url.search = this.authorizationParameters(parameters).toString();
    return url;
  }

  authorizationParameters(parameters: Parameters = {}): URLSearchParams {
    const all: Parameters = {
      response_type: "code",
      client_id: this.client.client_id,
      redirect_uri: redirectUri,
      scope: "openid",
      state: randomBytes(16).toString("base64url"),
      nonce: randomUUID(),
      ...this.#usual,
      ...parameters,
    };
    return new URLSearchParams(Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined));
  }

  /** An authorization request, by the person's browser, and what it was answered with. Checks that `state` and `iss` are right. */
  async authorize(person: Person, parameters: Parameters = {}, answers: Answers = {}): Promise<SignIn> {
    const url = this.authorizationUrl(parameters);
    const arrival = await person.visit(url, answers);
    const answer = readAnswer(arrival, url.searchParams.get("response_mode"));
    const state = url.searchParams.get("state");
    if (answer.get("state") !== state) throw new Error(`state ${answer.get("state")} for ${state}`);
    if (answer.get("iss") !== this.#actors.issuer) throw new Error(`iss ${answer.get("iss")}`);
    return { answer, pages: arrival.pages, nonce: url.searchParams.get("nonce") ?? undefined };
  }

  /** Redeems the code, whatever comes of it. */
  redeem(signIn: Pick<SignIn, "answer">, form: Parameters = {}): Promise<Reply> {
    const all = {
      grant_type: "authorization_code",
      code: signIn.answer.get("code") ?? "",
      redirect_uri: redirectUri,
      ...form,
    };
    const present = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined);
    return this.#actors.token(this.client, new URLSearchParams(present));
  }

  /** From the person's click to verified tokens. */
  async signIn(person: Person, parameters: Parameters = {}): Promise<Tokens & SignIn> {
    const signIn = await this.authorize(person, parameters);
    if (!signIn.answer.has("code")) throw new Error(`no code: ${signIn.answer}`);
    return { ...signIn, ...(await this.readTokens(await this.redeem(signIn), signIn.nonce)) };
  }

  refresh(refreshToken: string | undefined, form: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.#actors.token(this.client, {
      grant_type: "refresh_token",
      refresh_token: refreshToken ?? "",
      ...form,
    });
  }

  /** Verifies the ID token as OIDC Core §3.1.3.7 tells an application to. */
  async readTokens(reply: Reply, nonce?: string | undefined): Promise<Tokens> {
    if (reply.status !== 200) throw new Error(`token: ${reply.status} ${reply.text}`);
    const idToken = String(reply.body["id_token"]);
    const { payload } = await this.verify(idToken);
    if (nonce !== undefined && payload["nonce"] !== nonce) throw new Error(`nonce ${payload["nonce"]} for ${nonce}`);
    const refreshToken = reply.body["refresh_token"];
    return {
      accessToken: String(reply.body["access_token"]),
      idToken,
      refreshToken: typeof refreshToken === "string" ? refreshToken : undefined,
      claims: payload,
      reply,
    };
  }

  verify(jwt: string, options: { readonly typ?: string } = {}): Promise<JWTVerifyResult> {
    return jwtVerify(jwt, this.#keys, {
      issuer: this.#actors.issuer,
      audience: this.client.client_id,
      ...options,
    });
  }

  logoutUrl(parameters: Parameters = {}): URL {
    const url = new URL(`${this.#actors.issuer}/logout`);
    for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value);
    return url;
  }
}

/** The authorization response is where the response mode puts it, and nowhere else. */
export function readAnswer({ url, body }: Arrival, responseMode: string | null | undefined): URLSearchParams {
  if (responseMode === "form_post") {
    if (body === undefined || url.search !== "" || url.hash !== "") throw new Error(`not a form post: ${url}`);
    return body;
  }
  if (body !== undefined) throw new Error(`a form post: ${body}`);
  return responseMode === "fragment" ? new URLSearchParams(url.hash.slice(1)) : url.searchParams;
}
