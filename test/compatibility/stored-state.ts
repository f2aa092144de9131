import { expect } from "vitest";
import type { LocalProvider } from "../../packages/edge-op/src/local-provider.ts";
import type { Person } from "../../packages/edge-op/testing/person.ts";
import { Application, allScopes, type Tokens } from "../conformance/fixtures/application.ts";
import { ProviderFixtures, type TestClient } from "../conformance/fixtures/provider-fixtures.ts";
import { registerPerson } from "../conformance/fixtures/register-person.ts";

/**
 * **The stored state of a deployment**, created under one set of Workers, then checked and continued under another: sessions, grants, codes,
 * families, revocations, clients, users and signing keys.
 */
export class StoredState {
  readonly #application: Application;
  readonly #resourceServer: TestClient;
  readonly #browser: Person;
  readonly #revoked: string[] = [];
  #tokens: Tokens;
  #usedRefreshTokens: (string | undefined)[] = [];
  #signingKids: readonly string[] = [];
  #openCode: Awaited<ReturnType<Application["authorize"]>>;

  private constructor(
    application: Application,
    resourceServer: TestClient,
    browser: Person,
    tokens: Tokens,
    openCode: Awaited<ReturnType<Application["authorize"]>>,
  ) {
    this.#application = application;
    this.#resourceServer = resourceServer;
    this.#browser = browser;
    this.#tokens = tokens;
    this.#openCode = openCode;
  }

  static async make(provider: LocalProvider): Promise<StoredState> {
    const fixtures = new ProviderFixtures(provider);
    const application = await Application.register(fixtures);
    const resourceServer = await fixtures.resourceServer();
    const browser = (await registerPerson(fixtures)).browser();
    const tokens = await application.signIn(browser, { scope: allScopes, prompt: "consent" });
    return new StoredState(application, resourceServer, browser, tokens, await application.authorize(browser));
  }

  /** Checks everything under the current Workers, and changes it: each call finds the results of the previous one. */
  async goOn(provider: LocalProvider): Promise<void> {
    const fixtures = new ProviderFixtures(provider);
    const isActive = (token: string) => fixtures.isActive(this.#resourceServer, token);

    expect(await isActive(this.#tokens.accessToken), "the access token").toBe(true);
    for (const token of this.#revoked) expect(await isActive(token), "a revoked token").toBe(false);

    const redeemed = await this.#application.redeem(this.#openCode);
    expect(redeemed.status, `a code of before: ${redeemed.text}`).toBe(200);
    const ended = String(redeemed.body["access_token"]);
    expect((await fixtures.revoke(this.#application.client, ended)).status).toBe(200);
    expect(await isActive(ended)).toBe(false);
    this.#revoked.push(ended);

    const { pages } = await this.#application.authorize(this.#browser, { prompt: "none" });
    expect(pages, "the session of before").toEqual([]);
    this.#openCode = await this.#application.authorize(this.#browser);

    // Keys of algorithms that one of the releases lacks are kept, even when it changes the schedule.
    await fixtures.admin.require("POST", "/keys", { alg: "ES256" });
    const kids = await signingKids(provider);
    for (const kid of this.#signingKids) expect(kids, "a key of before").toContain(kid);
    this.#signingKids = kids;

    const refreshed = await this.#application.refresh(this.#tokens.refreshToken);
    expect(refreshed.status, `a refresh token of before: ${refreshed.text}`).toBe(200);
    this.#usedRefreshTokens.push(this.#tokens.refreshToken);
    this.#tokens = await this.#application.readTokens(refreshed);
  }

  /** The oldest refresh token of the family is used again, which is theft, whichever Workers wrote the versions in between. */
  async detectTheft(provider: LocalProvider): Promise<void> {
    const fixtures = new ProviderFixtures(provider);
    const stolen = await this.#application.refresh(this.#usedRefreshTokens[0]);
    expect(stolen.body["error"]).toBe("invalid_grant");
    expect(await fixtures.isActive(this.#resourceServer, this.#tokens.accessToken)).toBe(false);
  }
}

async function signingKids(provider: LocalProvider): Promise<string[]> {
  const { keys } = (await (await fetch(`${provider.origin}/jwks`)).json()) as { keys: { kid: string; use: string }[] };
  return keys.filter(({ use }) => use === "sig").map(({ kid }) => kid);
}
