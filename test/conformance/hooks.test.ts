/**
 * **The recipes of `examples/hooks`** (docs/operating/hooks.md), each as a Worker over a Service Binding, and as an object in the test provider.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { totpCode } from "../../load-tests/lib/totp-code.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { Person } from "../../packages/edge-op/testing/person.ts";
import { hostileResults } from "../fixtures/hostile-results.ts";
import { Application } from "./fixtures/application.ts";
import { HookedProvider, type HookFile, type HookShape, newAddress, OtherSystem } from "./fixtures/hooked-provider.ts";
import { accessToken, api, claimsOf, otherApi, type ProviderFixtures } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";

const shapes: readonly HookShape[] = ["binding", "double"];
const password = "a long enough password";

let provider: HookedProvider | undefined;
let other: OtherSystem | undefined;

afterEach(async () => {
  other?.close();
  await provider?.stop();
  [provider, other] = [undefined, undefined];
});

async function start(shape: HookShape, file: HookFile): Promise<HookedProvider> {
  provider = await HookedProvider.start(shape, file);
  return provider;
}

async function system(...given: Parameters<typeof OtherSystem.start>): Promise<OtherSystem> {
  other = await OtherSystem.start(...given);
  return other;
}

/** Creates an account by the pages, in a provider that mails by {@link HookedProvider.nextMail}; returns the address. */
async function signUp(on: HookedProvider, application: Application): Promise<string> {
  const address = newAddress();
  const person = new Person(on.fixtures.issuer, { username: address, password });
  const first = await person.openPage(application.authorizationUrl());
  const page = await person.submit(first, { "sign-in": { "sign-up": "1" } });
  if (page.kind === "arrival") throw new Error("no page to sign up");
  const asked = await person.submit(page, { "sign-up": { name: "Nell New", address } });
  if (asked.kind === "arrival") throw new Error("no page for the code");
  const [, one, two] = /\b(\d{4}) (\d{4})\b/.exec(await on.nextMail(address)) ?? [];
  const proven = await person.submit(asked, { [asked.name]: { code: `${one}${two}` } });
  if (proven.kind === "arrival") throw new Error("no page for a password");
  const reached = await person.submit(proven, { "create-account": { new: password, repeat: password } });
  expect(reached).toMatchObject(reached.kind === "page" ? { name: "consent", status: 200 } : { kind: "arrival" });
  return address;
}

async function hashOf({ admin }: ProviderFixtures, sub: string): Promise<unknown> {
  const { users } = await admin.require("GET", "/export/users");
  return (users as readonly Readonly<Record<string, unknown>>[]).find((user) => user["sub"] === sub)?.["password_hash"];
}

test.each(["docs/operating/hooks.md", "packages/hooks/README.md"])("%s shows a recipe as it is", (page) => {
  const read = (path: string) => readFileSync(join(repositoryRoot, path), "utf8");
  const [, name, shown] = /<!-- recipe ([\w-]+) -->\n```ts\n([\s\S]*?)```/.exec(read(page)) ?? [];
  expect(shown).toBe(read(`examples/hooks/src/${name}.ts`));
});

describe.each(shapes)("recipes, called by %s", (shape) => {
  test("claim-from-crm: a tenant is in every token and at UserInfo, and a person whom the CRM does not know has none", async () => {
    let tenant = "acme";
    const crm = await system(({ path }) => (path.endsWith("known") ? { body: { tenant } } : { status: 404 }));
    const { fixtures, failures } = await start(shape, { name: "claim-from-crm", vars: { CRM: crm.origin } });
    const application = await Application.register(fixtures);
    const known = await registerPerson(fixtures, {}, { sub: "known" });
    const { claims, accessToken: token } = await application.signIn(known.browser());
    expect(claims).toMatchObject({ sub: "known", tenant: "acme" });
    expect(claimsOf(token)).toMatchObject({ tenant: "acme" });
    expect(await (await fixtures.userinfo(token)).json()).toMatchObject({ sub: "known", tenant: "acme" });
    // No decision in which the hook took part is remembered: the next response has the next answer.
    for (const next of ["acme", "acme", "other"]) {
      tenant = next;
      expect(await (await fixtures.userinfo(token)).json()).toMatchObject({ tenant: next });
    }
    const stranger = await registerPerson(fixtures);
    expect((await application.signIn(stranger.browser())).claims).not.toHaveProperty("tenant");
    expect(failures).toEqual([]);
  });

  test("groups-to-claims: the teams are in the access token of the API alone", async () => {
    const { fixtures, failures } = await start(shape, { name: "groups-to-claims", vars: { API: api } });
    const application = await Application.register(fixtures, { scope: "openid read", audiences: [api, otherApi] });
    const person = await registerPerson(fixtures, {}, { groups: ["team-red", "staff"] });
    const tokenFor = async (parameters: Readonly<Record<string, string>>) => {
      const signIn = await application.authorize(person.browser(), parameters);
      return claimsOf(accessToken(await application.redeem(signIn)));
    };
    expect(await tokenFor({ scope: "read", resource: api })).toMatchObject({ aud: api, [`${api}/teams`]: ["red"] });
    // This provider, whose UserInfo reads the token too, is no other recipient.
    expect(await tokenFor({ scope: "openid read", resource: api })).toHaveProperty([`${api}/teams`], ["red"]);
    expect(await tokenFor({ scope: "read", resource: otherApi })).not.toHaveProperty([`${api}/teams`]);
    expect(failures).toEqual([]);
  });

  test("claims-by-client: each client gets the claims of its product", async () => {
    const { fixtures, failures } = await start(shape, {
      name: "claims-by-client",
      settings: { SERVER_TIMING: "true" },
    });
    const wiki = await Application.register(fixtures, { client_name: "Wiki" });
    const shop = await Application.register(fixtures, { client_name: "Shop" });
    const person = await registerPerson(fixtures);
    const atShop = await shop.signIn(person.browser());
    expect(atShop.claims).toMatchObject({ customer: { id: person.sub, login: person.username } });
    const atWiki = await wiki.signIn(person.browser());
    expect(atWiki.claims).not.toHaveProperty("customer");
    const userinfo = await (await fixtures.userinfo(atWiki.accessToken)).json();
    expect(userinfo).toEqual({ sub: person.sub, wiki_name: person.username.toUpperCase() });
    expect(failures).toEqual([]);
  });

  test.each([
    ["within them, people sign in", "24", true],
    ["outside of them, the client is told that access is denied", "0", false],
  ])("office-hours: %s", async (_, CLOSES, isAllowed) => {
    const vars = { TIME_ZONE: "Europe/Berlin", OPENS: "0", CLOSES };
    const { fixtures, failures } = await start(shape, { name: "office-hours", vars });
    const application = await Application.register(fixtures);
    const person = (await registerPerson(fixtures)).browser();
    const { authorizationResponse } = await application.authorize(person);
    if (isAllowed) expect(authorizationResponse.has("code")).toBe(true);
    else expect(authorizationResponse.get("error")).toBe("access_denied");
    expect(person.cookies.has("op-session")).toBe(isAllowed);
    expect(failures).toEqual([]);
  });

  test("factor-from-new-country: the first sign-in sets up a second factor, the next one from there needs none", async () => {
    const seen = new Map<string, string>();
    const SEEN = {
      get: (key: string) => seen.get(key) ?? null,
      put: (key: string, value: string) => seen.set(key, value),
    };
    const { fixtures, failures } = await start(shape, {
      ...{ name: "factor-from-new-country", config: "examples/hooks/wrangler.toml", bindings: { SEEN } },
    });
    const application = await Application.register(fixtures, { skip_consent: true });
    const registered = await registerPerson(fixtures);
    const person = registered.browser();
    const first = await person.submit(await person.openPage(application.authorizationUrl()));
    if (first.kind === "arrival") throw new Error("a password alone has signed in");
    expect(first.name).toBe("enrol");
    expect(person.cookies.has("op-session")).toBe(false);
    const [, key = ""] = /id="key">([^<]+)</.exec(first.html) ?? [];
    const codes = await person.submit(first, { enrol: { code: await totpCode(key, Date.now()) } });
    expect(codes).toMatchObject({ kind: "page", name: "recovery-codes" });
    expect(person.cookies.has("op-session")).toBe(true);
    const again = registered.browser();
    const reached = await again.submit(await again.openPage(application.authorizationUrl()));
    // The person's own app is asked for, as for everybody who has one; the hook demands nothing.
    expect(reached).toMatchObject({ kind: "page", name: "prove-more" });
    const stranger = await registerPerson(fixtures);
    seen.set(`${stranger.sub} unknown`, "1");
    if (shape === "double") {
      expect(await application.authorize(stranger.browser())).toMatchObject({ pages: ["sign-in"] });
    }
    expect(failures).toEqual([]);
  });

  test("refuse-disposable-addresses: people with such an address do not get in", async () => {
    const vars = { DISPOSABLE: "mailinator.example trash.example" };
    const { fixtures, failures } = await start(shape, { name: "refuse-disposable-addresses", vars });
    const application = await Application.register(fixtures);
    const person = await registerPerson(fixtures, { email: "ann@TRASH.example" });
    const { authorizationResponse } = await application.authorize(person.browser());
    expect(authorizationResponse.get("error")).toBe("access_denied");
    const good = await registerPerson(fixtures, { email: "ann@example.com" });
    expect((await application.authorize(good.browser())).authorizationResponse.has("code")).toBe(true);
    expect(failures).toEqual([]);
  });

  test("welcome-mail: a person who has signed up is welcomed", async () => {
    const mails = await system();
    const file = { name: "welcome-mail", vars: { MAIL_API: mails.origin }, settings: { SIGN_UP: "open" } };
    const on = await start(shape, file);
    const address = await signUp(on, await Application.register(on.fixtures));
    const { body } = await mails.next();
    expect(body).toEqual({ to: address, subject: "Welcome", text: "Hello Nell New, good to have you." });
    expect(on.failures).toEqual([]);
  });

  test("sign-ups-to-warehouse: an event without name and address arrives, and a warehouse that is down stops nobody", async () => {
    const warehouse = await system(() => ({ status: 500 }));
    const file = {
      name: "sign-ups-to-warehouse",
      vars: { WAREHOUSE: warehouse.origin },
      settings: { SIGN_UP: "open" },
    };
    const on = await start(shape, file);
    await signUp(on, await Application.register(on.fixtures));
    const { body } = await warehouse.next();
    expect(body).toEqual({
      ...{ event: "sign-up", method: "password" },
      ...{ sub: expect.any(String) as string, at: expect.any(String) as string },
    });
    expect(on.failures).toEqual([]);
  });

  test("mail-by-other-provider: a mailed code goes by it, again after a refusal", async () => {
    let attempts = 0;
    const mails = await system(() => {
      attempts += 1;
      return { status: attempts === 1 ? 503 : 200 };
    });
    const settings = { SIGN_UP: "open", MAIL_FROM: "no-reply@example.com" };
    const on = await start(shape, { name: "mail-by-other-provider", vars: { MAIL_API: mails.origin }, settings });
    const application = await Application.register(on.fixtures);
    const address = newAddress();
    const person = new Person(on.fixtures.issuer, { username: address, password });
    const first = await person.openPage(application.authorizationUrl());
    const page = await person.submit(first, { "sign-in": { "sign-up": "1" } });
    if (page.kind === "arrival") throw new Error("no page to sign up");
    await person.submit(page, { "sign-up": { name: "Nell New", address } });
    const { body } = await mails.next(() => attempts === 2);
    expect(body).toMatchObject({ from: "no-reply@example.com", to: address });
    expect(mails.received.map((each) => each.body)).toEqual([body, body]);
    expect(on.failures).toEqual([]);
  });

  test("migrate-passwords: the earlier system is asked once, and only about people who are marked", async () => {
    const legacy = await system(({ body }) => ({
      status: (body as { readonly password: string }).password === password ? 200 : 401,
    }));
    const { fixtures, failures } = await start(shape, { name: "migrate-passwords", vars: { LEGACY: legacy.origin } });
    const application = await Application.register(fixtures);
    const username = newAddress();
    await fixtures.admin.require("POST", "/import/users", {
      users: [{ sub: "marked", username, password_hash: "$legacy$" }],
    });
    const wrong = new Person(fixtures.issuer, { username, password: "not the password" });
    const refused = await wrong.submit(await wrong.openPage(application.authorizationUrl()));
    expect(refused).toMatchObject({ kind: "page", name: "sign-in", status: 400 });
    const right = () => new Person(fixtures.issuer, { username, password });
    expect((await application.signIn(right())).claims.sub).toBe("marked");
    await expect.poll(() => hashOf(fixtures, "marked")).toMatch(/^\$scrypt\$/);
    expect((await application.signIn(right())).claims.sub).toBe("marked");
    const asked = legacy.received.map(({ body }) => (body as { readonly password: string }).password);
    expect(asked).toEqual(["not the password", password]);
    await application.signIn((await registerPerson(fixtures)).browser());
    expect(legacy.received).toHaveLength(2);
    expect(failures).toEqual([]);
  });
});

describe("a hook that an attacker has taken over", () => {
  test("whatever it returns or throws is one line with its name: 503 or a refusal, never 500, a session or a claim", async () => {
    let current = "";
    const cases = await system(() => ({ body: { name: current } }));
    const on = await start("binding", {
      ...{ folder: "test/faults", name: "hostile-hooks", vars: { CASES: cases.origin } },
      settings: { ENABLED_HOOKS: "claims=closed beforeSignIn legacyPassword" },
    });
    const application = await Application.register(on.fixtures);
    const registered = await registerPerson(on.fixtures);
    const { accessToken: token } = await application.signIn(registered.browser());
    const names = Object.keys(hostileResults);
    const users = names.map((_, index) => ({
      sub: `case-${index}`,
      username: `case-${index}`,
      password_hash: "$legacy$",
    }));
    await on.fixtures.admin.require("POST", "/import/users", { users });
    const failuresOf = async (act: () => Promise<void>) => {
      const known = on.failures.length;
      await act();
      return on.failures.slice(known).map((line) => /"hook":"(\w+)"/.exec(line)?.[1]);
    };
    for (const [index, name] of names.entries()) {
      current = name;
      const ofUserInfo = await failuresOf(async () => {
        expect((await on.fixtures.userinfo(token)).status, name).toBe(503);
      });
      const ofSignIn = await failuresOf(async () => {
        const person = registered.browser();
        const page = await person.submit(await person.openPage(application.authorizationUrl()));
        expect(page, name).toMatchObject({ kind: "page", status: 503 });
        expect(person.cookies.has("op-session"), name).toBe(false);
      });
      const ofPassword = await failuresOf(async () => {
        const person = new Person(on.fixtures.issuer, { username: `case-${index}`, password });
        const page = await person.submit(await person.openPage(application.authorizationUrl()));
        expect(page, name).toMatchObject({ kind: "page", name: "sign-in", status: 400 });
        expect(person.cookies.has("op-session"), name).toBe(false);
      });
      expect([name, ofUserInfo, ofSignIn, ofPassword]).toEqual([
        name,
        ["claims"],
        ["beforeSignIn"],
        ["legacyPassword"],
      ]);
    }
    current = "";
    expect((await application.authorize(registered.browser())).authorizationResponse.has("code")).toBe(true);
  });
});

describe("a hook that fails", () => {
  test("claims=closed: 503 before anything is spent, and the same code is redeemed when the hook answers again", async () => {
    let isDown = true;
    const crm = await system(() => (isDown ? { body: {} } : { body: { tenant: "acme" } }));
    const settings = { ENABLED_HOOKS: "claims=closed" };
    const on = await start("binding", { name: "claim-from-crm", vars: { CRM: crm.origin }, settings });
    const application = await Application.register(on.fixtures);
    const signIn = await application.authorize((await registerPerson(on.fixtures)).browser());
    expect(await application.redeem(signIn)).toMatchObject({ status: 503 });
    expect(on.failures[0]).toContain('"hook":"claims"');
    isDown = false;
    expect((await application.readTokens(await application.redeem(signIn), signIn.nonce)).claims).toMatchObject({
      tenant: "acme",
    });
  });

  test("beforeSignIn, enabled and not implemented: the sign-in is 503, never 500, and opens no session", async () => {
    const settings = { ENABLED_HOOKS: "claims beforeSignIn" };
    const on = await start("binding", { name: "claims-by-client", settings });
    const application = await Application.register(on.fixtures);
    const person = (await registerPerson(on.fixtures)).browser();
    const page = await person.submit(await person.openPage(application.authorizationUrl()));
    expect(page).toMatchObject({ kind: "page", status: 503 });
    expect(person.cookies.has("op-session")).toBe(false);
    expect(on.failures[0]).toContain('"hook":"beforeSignIn"');
  });
});
