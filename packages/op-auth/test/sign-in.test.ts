import { describe, expect, it, vi } from "vitest";
import { seedClient, seedUser } from "../../../test/fixtures/seed.ts";
import {
  AuthFixtures,
  authEnv,
  authorizationPath,
  codeClient,
  countRows,
  formTokenOf,
  locationOf,
  password,
  sentToClient,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";

const { fixtures } = useDeployment();

describe("signing in", () => {
  it("OIDC Core §3.1.2: a person signs in, consents, and the client gets a code, its state and the issuer", async () => {
    const browser = fixtures.browser();
    const signIn = locationOf(await browser.authorize());
    expect(signIn).toMatch(/^\/flow\/sign-in\?f=[A-Za-z0-9_-]+$/);
    const consent = locationOf(await browser.signIn(signIn));
    expect(consent).toMatch(/\/consent\?f=/);
    const answer = sentToClient(await browser.allow(consent));
    expect(answer).toEqual({
      code: expect.stringMatching(/^ac\.g1\.wnam\.[0-7]\./),
      state: "the-state",
      iss: "https://op.example.com",
    });
  });

  it("OIDC Core §3.1.2.4: consent is requested once, across sessions", async () => {
    const browser = fixtures.browser();
    await browser.signInWhole();
    expect(sentToClient(await browser.authorize()).code).toBeDefined();

    const other = fixtures.browser();
    const signIn = locationOf(await other.authorize());
    expect(sentToClient(await other.signIn(signIn)).code).toBeDefined();
  });

  it("OIDC Core §3.1.2.4: more scope requires consent again, and earlier consent is kept", async () => {
    const browser = fixtures.browser();
    await browser.signInWhole({ scope: "openid profile" });
    const consent = locationOf(await browser.authorize({ scope: "openid email" }));
    const page = await (await browser.get(consent)).text();
    expect(page).toContain("See your email address");
    await browser.allow(consent);
    expect(sentToClient(await browser.authorize({ scope: "openid profile email" })).code).toBeDefined();
  });

  it("OIDC Core §3.1.2.6: cancelling at sign-in or consent sends access_denied", async () => {
    const browser = fixtures.browser();
    const signIn = locationOf(await browser.authorize());
    expect(sentToClient(await browser.submit(signIn, { cancel: "1" }))).toMatchObject({
      error: "access_denied",
      state: "the-state",
      iss: "https://op.example.com",
    });
    const consent = locationOf(await browser.signIn(locationOf(await browser.authorize())));
    expect(sentToClient(await browser.submit(consent, { decision: "deny" })).error).toBe("access_denied");
  });

  it.each([
    ["a wrong password", "alice", "wrong"],
    ["an unknown user", "nobody", password],
    ["a suspended user with a wrong password", "mallory", "wrong"],
  ])("RFC 9700 §4.13: %s is shown the same page again", async (_, username, secret) => {
    const browser = fixtures.browser();
    const page = locationOf(await browser.authorize());
    const response = await browser.signIn(page, username, secret);
    expect(response.status).toBe(400);
    const html = await response.text();
    expect(html).toContain("do not match");
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
    expect(sentToClient(await browser.allow(locationOf(await browser.signIn(page)))).code).toBeDefined();
  });

  it.each([" alice", "alice ", "\u00a0alice", "alice\n"])(
    "a blank beside the name is no part of it: %j",
    async (name) => {
      const browser = fixtures.browser();
      expect(locationOf(await browser.signIn(await browser.pageOf(), name))).toMatch(/consent\?f=/);
    },
  );
  it.each([
    [{}, "Ask your administrator."],
    [{ SUPPORT_URL: "https://help.example.com/" }, '<a href="https://help.example.com/">Contact support</a>'],
  ])("a suspended user with the right password is told so, and whom to ask: %j", async (env, help) => {
    const browser = fixtures.browser({ ...authEnv, ...env });
    const response = await browser.signIn(locationOf(await browser.authorize()), "mallory", password);
    const html = await response.text();
    expect([response.status, html.includes("Your account is suspended."), html.includes(help)]).toEqual([
      400,
      true,
      true,
    ]);
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
  });

  it("usernames are case-insensitive", async () => {
    const browser = fixtures.browser();
    expect(locationOf(await browser.signIn(locationOf(await browser.authorize()), "ALICE"))).toMatch(/consent\?f=/);
  });

  it("RFC 6749 §10.12: a form without its token, or with one of another page, is refused", async () => {
    const browser = fixtures.browser();
    const page = locationOf(await browser.authorize());
    const other = locationOf(await browser.authorize());
    expect((await browser.post(page, { username: "alice", password })).status).toBe(403);
    const foreign = formTokenOf(await (await browser.get(other)).text());
    expect((await browser.post(page, { username: "alice", password, form_token: foreign })).status).toBe(403);
  });

  it("session fixation: a flow begun in one browser cannot be used in another", async () => {
    const attacker = fixtures.browser();
    const page = locationOf(await attacker.authorize());
    const token = formTokenOf(await (await attacker.get(page)).text());
    const victim = fixtures.browser();
    await victim.authorize();
    expect((await victim.get(page)).status).toBe(400);
    expect((await victim.post(page, { username: "alice", password, form_token: token })).status).toBe(400);
  });

  it("session fixation: signing in changes the session id, and the old one becomes useless", async () => {
    const browser = fixtures.browser();
    await browser.signInWhole();
    const old = browser.cookies.get("__Host-op-session")!;
    await browser.signInWhole({ prompt: "login" });
    expect(browser.cookies.get("__Host-op-session")).not.toBe(old);

    const thief = fixtures.browser();
    thief.cookies.set("__Host-op-session", old);
    expect(sentToClient(await thief.authorize({ prompt: "none" })).error).toBe("login_required");
  });

  it("a flow opens one session: of two forms that were sent, the other says so and leads on", async () => {
    const browser = fixtures.browser();
    const page = locationOf(await browser.authorize());
    const token = formTokenOf(await (await browser.get(page)).text());
    const fields = { username: "alice", password, form_token: token };
    const responses = await Promise.all([browser.post(page, fields), browser.post(page, fields)]);
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 303]);
    const html = await responses.find(({ status }) => status === 200)!.text();
    expect(html).toContain("You are already signed in");
    const [, restart] = /href="(\/flow\/restart[^"]+)"/.exec(html)!;
    expect(locationOf(await browser.get(restart!))).toMatch(/consent\?f=/);
    const sessions = await countRows("user_sessions");
    expect(sessions).toBe(1);
  });

  it("RFC 6265 §4.1.2: the session cookie is limited to this host and https, and hidden from scripts", async () => {
    const browser = fixtures.browser();
    const response = await browser.signIn(locationOf(await browser.authorize()));
    const cookie = response.headers.getSetCookie().find((line) => line.startsWith("__Host-op-session="));
    expect(cookie).toMatch(
      /^__Host-op-session=ss\.g1\.wnam\.\d\.[\w-]{43}[0-9a-z]+; Path=\/; Max-Age=1209600; HttpOnly; SameSite=Lax; Secure$/,
    );
  });

  it("RFC 9700 §4.16: pages cannot be framed, run no foreign scripts, and are not cached", async () => {
    const browser = fixtures.browser();
    const response = await browser.get(locationOf(await browser.authorize()));
    expect(response.status).toBe(200);
    const csp = response.headers.get("content-security-policy");
    expect(csp).toContain("default-src 'none'");
    expect(csp).toContain("frame-ancestors 'none'");
    expect(csp).not.toContain("unsafe-inline");
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  it("markup in a client's name and in typed input stays text", async () => {
    const name = `<img src=x onerror="alert(1)">`;
    await seedClient(authEnv, "markup", { ...codeClient, client_name: name });
    const browser = fixtures.browser();
    const page = locationOf(await browser.get(authorizationPath({ client_id: "markup", login_hint: `"><script>` })));
    const html = await (await browser.get(page)).text();
    expect(html).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;");
    expect(html).not.toContain(`"><script>`);
  });

  it("disabling the client during the sign-in prevents the redirect", async () => {
    const browser = fixtures.browser();
    const page = locationOf(await browser.authorize());
    await authEnv.DB.prepare("UPDATE clients SET status = 'disabled' WHERE client_id = 'app'").run();
    // Another isolate, which has not seen the client before, nor has KV.
    const { keys } = await authEnv.CACHE.list();
    await Promise.all(keys.map(({ name }) => authEnv.CACHE.delete(name)));
    const elsewhere = new AuthFixtures(fixtures.client).copyOf(browser);
    const response = await elsewhere.get(page);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("invalid_client");
  });
});

describe("guessing passwords", () => {
  it("eleven wrong guesses at an account are throttled, also in parallel, and the wait is short", async () => {
    const browser = fixtures.browser();
    const page = locationOf(await browser.authorize());
    const token = formTokenOf(await (await browser.get(page)).text());
    const guesses = Array.from({ length: 14 }, (_, index) =>
      browser.post(page, { username: "alice", password: `guess ${index}`, form_token: token }),
    );
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 400)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(4);
    const refused = await browser.post(page, { username: "Alice", password, form_token: token });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(31);
  });

  it("every spelling of a name is one account and one bucket; a name that only looks alike is another account", async () => {
    await seedUser(authEnv, "fiona");
    await seedUser(authEnv, "unal");
    await authEnv.DB.prepare("UPDATE users SET username = 'Ünal', username_key = 'ünal' WHERE sub = 'unal'").run();
    const browser = fixtures.browser();
    const page = locationOf(await browser.authorize());
    const token = formTokenOf(await (await browser.get(page)).text());
    const guess = async (username: string) =>
      (await browser.post(page, { username, password: "guess", form_token: token })).status;
    const spellings = ["ünal", "ÜNAL", "Ünal", "u\u0308nal", "Ｕ\u0308nal"];
    for (let attempt = 0; attempt < 10; attempt += 1) expect(await guess(spellings[attempt % 5]!)).toBe(400);
    for (const spelling of spellings) expect(await guess(spelling)).toBe(429);
    expect(await guess("ﬁona")).toBe(400);
    for (let attempt = 0; attempt < 10; attempt += 1) expect(await guess("ﬁona")).toBe(attempt < 9 ? 400 : 429);
    expect(await guess("fiona")).toBe(400);
  });

  it("attempts on an unknown username are throttled like those on an account, in every spelling", async () => {
    const browser = fixtures.browser();
    const page = locationOf(await browser.authorize());
    const token = formTokenOf(await (await browser.get(page)).text());
    const statuses = [];
    for (const username of Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? "nobody" : "NOBODY"))) {
      statuses.push((await browser.post(page, { username, password: "guess", form_token: token })).status);
    }
    expect(statuses).toEqual([...Array(10).fill(400), 429, 429]);
  });

  it("failed and throttled sign-ins leave a log line without the typed input", async () => {
    const logged: Record<string, unknown>[] = [];
    const info = vi.spyOn(console, "info").mockImplementation((line: string) => {
      const parsed = JSON.parse(line) as Record<string, unknown>;
      if (parsed["event"] !== "request") logged.push(parsed);
    });
    try {
      const browser = fixtures.browser();
      const page = locationOf(await browser.authorize());
      const token = formTokenOf(await (await browser.get(page)).text());
      for (const [username, secret] of [
        ["alice", "guess"],
        ["my-password", "x"],
        ["mallory", password],
      ] as const) {
        await browser.post(page, { username, password: secret, form_token: token });
      }
      for (let attempt = 0; attempt < 10; attempt += 1) {
        await browser.post(page, { username: "alice", password: "guess", form_token: token });
      }
    } finally {
      info.mockRestore();
    }
    const requestId = expect.any(String);
    const failed = { event: "sign-in-failed", method: "password", requestId };
    expect(logged.slice(0, 3)).toEqual([
      { ...failed, sub: "alice", reason: "wrong password" },
      { ...failed, reason: "unknown user" },
      { ...failed, sub: "mallory", reason: "suspended" },
    ]);
    expect(logged.at(-1)).toEqual({
      event: "sign-in-throttled",
      method: "password",
      sub: "alice",
      reason: "too many attempts: account",
      requestId,
    });
    expect(JSON.stringify(logged)).not.toContain("my-password");
  });

  it("an attacker's guesses do not lock out a browser that has signed in to the account", async () => {
    const known = fixtures.browser();
    await known.signInWhole();
    const stranger = fixtures.browser();
    const page = locationOf(await stranger.authorize());
    const token = formTokenOf(await (await stranger.get(page)).text());
    for (let guess = 0; guess < 11; guess += 1) {
      await stranger.post(page, { username: "alice", password: "guess", form_token: token });
    }
    const again = locationOf(await known.authorize({ prompt: "login" }));
    expect(sentToClient(await known.signIn(again)).code).toBeDefined();
  });

  describe("persistent attackers, in a deployment that knows addresses", () => {
    const addressed = { ...authEnv, TRUST_FORWARDED_HEADERS: "true" };

    async function trier(address: string, browser = fixtures.browser(addressed)) {
      const headers = { "x-forwarded-for": address, "content-type": "application/x-www-form-urlencoded" };
      const page = locationOf(await browser.authorize({ prompt: "login" }));
      const token = formTokenOf(await (await browser.get(page)).text());
      return (secret: string, username = "alice") => {
        const body = new URLSearchParams({ username, password: secret, form_token: token }).toString();
        return browser.send(page, { method: "POST", headers, body });
      };
    }

    const attackFrom = async (addresses: readonly string[], username = "alice") => {
      for (const address of addresses) {
        const guess = await trier(address);
        let status = 400;
        for (let count = 0; count < 70 && status === 400; count += 1) status = (await guess("guess", username)).status;
        expect(status).toBe(429);
      }
    };

    it("a person at an address without failures signs in, even after a mistake", async () => {
      await attackFrom(["198.51.100.1", "198.51.100.2", "198.51.100.3", "2001:db8::1", "2001:db8::2", "2001:db8:1::1"]);
      expect((await (await trier("2001:db8::3"))(password)).status).toBe(429);
      const owner = await trier("192.0.2.1");
      expect((await owner("mistyped")).status).toBe(400);
      expect((await owner("mistyped")).status).toBe(400);
      expect(locationOf(await owner(password))).toMatch(/consent\?f=/);
    });

    it("a person in a known browser signs in at an exhausted address; for another account the browser is not known", async () => {
      const known = fixtures.browser(addressed);
      await (await trier("198.51.100.1", known))(password);
      // Pages first, because a place for the address is free again after three seconds.
      const stranger = await trier("198.51.100.1");
      const owner = await trier("198.51.100.1", known);
      const guess = () => stranger("guess", "bob");
      await Promise.all(Array.from({ length: 13 }, guess));
      // Without a hash, so that nothing drains meanwhile.
      await Promise.all(Array.from({ length: 70 }, guess));
      // Guesses before it take the places that have become free meanwhile.
      const afterGuesses = async (attempt: () => Promise<Response>) =>
        (await Promise.all([...Array.from({ length: 10 }, guess), attempt()])).at(-1)?.status;
      expect(await afterGuesses(() => stranger(password))).toBe(429);
      expect(await afterGuesses(() => owner(password, "bob"))).toBe(429);
      expect(locationOf(await owner(password))).toMatch(/consent\?f=/);
    });
  });
});
