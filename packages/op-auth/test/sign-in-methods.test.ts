import { passwordAcr, supportedAcrValues } from "@edge-op/protocol/oauth/authentication-context";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { signInMethods } from "../src/sign-in/methods.ts";
import { type AuthorizationParameters, locationOf, password, useDeployment } from "./fixtures/auth-fixtures.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

const { browser } = useDeployment();

async function signInPage(parameters: AuthorizationParameters): Promise<string> {
  return (await browser.get(locationOf(await browser.authorize(parameters)))).text();
}

function purposeOf(html: string): string | undefined {
  return /<p class="muted" id="purpose">([^<]*)<\/p>/.exec(html)?.[1];
}

const essential = (acr: string) => ({
  claims: JSON.stringify({ id_token: { acr: { essential: true, values: [acr] } } }),
});

describe("the page shows why a person must sign in again", () => {
  beforeEach(async () => {
    await browser.signInWhole();
    await SoftwarePasskey.register("alice");
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 100_000);
  });

  it.each<[string, AuthorizationParameters, string]>([
    ["OIDC Core §5.5.1.1: a preferred acr", { acr_values: "phr" }, "Example App prefers a sign-in with a passkey."],
    ["OIDC Core §3.1.2.1: max_age", { max_age: "60" }, "Example App requires a recent sign-in."],
    ["OIDC Core §3.1.2.1: prompt=login", { prompt: "login" }, "Example App requires you to sign in again."],
    [
      "in the client's language",
      { acr_values: "phr", ui_locales: "de" },
      "Example App bevorzugt eine Anmeldung mit einem Passkey.",
    ],
  ])("%s", async (_, parameters, sentence) => {
    expect(purposeOf(await signInPage(parameters))).toBe(sentence);
  });

  it("a session that satisfies max_age and the preferred acr is not shown as the reason", async () => {
    const satisfied = { prompt: "login", max_age: "1000", acr_values: passwordAcr };
    expect(purposeOf(await signInPage(satisfied))).toBe("Example App requires you to sign in again.");
  });

  it("a preferred password, for a person who signed in by passkey", async () => {
    const passkey = await SoftwarePasskey.register("alice");
    browser.restart();
    const page = locationOf(await browser.authorize());
    const html = await (await browser.get(page)).text();
    await browser.submit(page, { credential: await passkey.assert(html) });
    expect(purposeOf(await signInPage({ acr_values: passwordAcr }))).toBe(
      "Example App prefers a sign-in with your password.",
    );
  });

  it("a refused attempt keeps the explanation", async () => {
    const page = locationOf(await browser.authorize({ acr_values: "phr" }));
    const refused = await browser.submit(page, { username: "alice", password: "wrong" });
    expect(refused.status).toBe(400);
    const html = await refused.text();
    expect(purposeOf(html)).toBe("Example App prefers a sign-in with a passkey.");
    expect(html).toContain("That password is not correct.");
  });
});

it("a person who is not signed in is shown the target of the sign-in, without a reason", async () => {
  const html = await signInPage({ acr_values: "phr", max_age: "60", prompt: "login" });
  expect(purposeOf(html)).toBe("to continue to Example App");
});

describe("the list of sign-in methods", () => {
  it("Discovery §3: acr_values_supported contains exactly the acr values of the methods", () => {
    const acrValues = new Set(signInMethods.flatMap((method) => method.acrValues));
    expect(acrValues).toEqual(new Set(supportedAcrValues));
  });

  it("each method has a distinct name and form field", () => {
    expect(new Set(signInMethods.map(({ name }) => name)).size).toBe(signInMethods.length);
    expect(new Set(signInMethods.map(({ field }) => field)).size).toBe(signInMethods.length);
  });

  it.each([
    ["phr", "Example App requires a passkey.", 'data-passkey="get"', 'name="password"'],
    [passwordAcr, "Example App requires your password.", 'name="password"', 'data-passkey="get"'],
  ])("OIDC Core §5.5.1.1: only the methods with an essential acr are offered: %s", async (acr, text, shown, hidden) => {
    const html = await signInPage(essential(acr));
    expect(html).toContain(text);
    expect(html).toContain(shown);
    expect(html).not.toContain(hidden);
  });

  it("OIDC Core §5.5.1.1: a form of a method without the essential acr is refused, and a correct password opens no session", async () => {
    const page = locationOf(await browser.authorize(essential("phr")));
    const response = await browser.signIn(page, "alice", password);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("Example App requires a passkey.");
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
  });

  it("a form without a method's field leads to the page again, without an error", async () => {
    const page = locationOf(await browser.authorize());
    const response = await browser.submit(page, {});
    expect([response.status, (await response.text()).includes('id="problem"')]).toEqual([200, false]);
  });
});
