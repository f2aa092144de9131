import { describe, expect, it } from "vitest";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import { authEnv, type Browser, formTokenOf, locationOf, password, useDeployment } from "./fixtures/auth-fixtures.ts";

const { fixtures, browser } = useDeployment();

type Store = "SESSION_STORE" | "AUTHORIZATION_CODE_STORE" | "CHALLENGE_STORE" | "DB";

/** The bindings with one store whose calls all fail. */
function without(store: Store): AuthEnv {
  const failing = new Proxy(
    {},
    {
      get: (_, property) => {
        if (property === "then") return undefined;
        if (property === "getByName") return () => failing;
        if (property === "prepare") return () => ({ bind: () => failing });
        return () => Promise.reject(new Error("away"));
      },
    },
  );
  return { ...authEnv, [store]: failing };
}

function browserWithout(store: Store): Browser {
  const other = fixtures.copyOf(browser, without(store));
  return other;
}

async function expectUnavailable(response: Response): Promise<void> {
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toBe("1");
  expect(response.headers.get("location")).toBeNull();
  expect(await response.text()).toContain("not available right now");
}

describe("a store that does not respond", () => {
  const isGivenCode = (response: Response) => new URL(locationOf(response)).searchParams.has("code");

  it("SESSION_STORE: 503 from /authorize, never login_required, and service resumes", async () => {
    await browser.signInWhole();
    await expectUnavailable(await browserWithout("SESSION_STORE").authorize({ prompt: "none" }));
    expect(isGivenCode(await browser.authorize({ prompt: "none" }))).toBe(true);
  });

  it("AUTHORIZATION_CODE_STORE: /authorize does not need it, because nothing is stored before a code is redeemed", async () => {
    await browser.signInWhole();
    expect(isGivenCode(await browserWithout("AUTHORIZATION_CODE_STORE").authorize({ prompt: "none" }))).toBe(true);
  });

  it("CHALLENGE_STORE: 503 for a request of more than 6 KiB, if the user would have to interact; others do not need it", async () => {
    const failing = browserWithout("CHALLENGE_STORE");
    await expectUnavailable(await failing.authorize({ state: "s".repeat(4096), nonce: "n".repeat(1024) }));
    expect((await failing.signInWhole()).get("code")).toBeDefined();
  });

  it.each<Store>(["SESSION_STORE", "DB"])(
    "%s: a sign-in is 503, nobody is signed in, and the page can be sent again",
    async (store) => {
      const page = locationOf(await browser.authorize());
      const html = await (await browser.get(page)).text();
      const fields = { username: "alice", password, form_token: formTokenOf(html) };
      const failing = browserWithout(store);
      await expectUnavailable(await failing.post(page, fields));
      expect(failing.cookies.has("__Host-op-session")).toBe(false);
      expect(locationOf(await browser.post(page, fields))).toMatch(/consent\?f=/);
    },
  );

  it("SESSION_STORE: a logout that did not end the session does not report success", async () => {
    await browser.signInWhole();
    const failing = browserWithout("SESSION_STORE");
    await expectUnavailable(await failing.get("/logout"));
    expect(failing.cookies.has("__Host-op-session")).toBe(true);
  });
});
