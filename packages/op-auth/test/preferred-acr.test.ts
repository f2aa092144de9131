import { describe, expect, it } from "vitest";
import { authEnv, locationOf, sentToClient, stepOf, useDeployment } from "./fixtures/auth-fixtures.ts";
import { AuthenticatorApp } from "./fixtures/authenticator-app.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

const { browser } = useDeployment({ skip_consent: true });

const setUp = {
  nothing: async () => {},
  app: async () => void (await AuthenticatorApp.register("alice")),
  passkey: async () => void (await SoftwarePasskey.register("alice")),
} as const;

describe("OIDC Core §3.1.2.1: `acr_values` asks only for what a new sign-in of this person reaches", () => {
  it.each<readonly [string, keyof typeof setUp, string]>([
    ["mfa", "nothing", "code"],
    ["phr", "nothing", "code"],
    ["phr mfa", "nothing", "code"],
    ["unknown", "nothing", "code"],
    ["urn:edge-op:acr:upstream", "nothing", "code"],
    ["unknown mfa", "app", "prove-more"],
    ["mfa", "app", "prove-more"],
    ["phr mfa", "app", "prove-more"],
    ["phr", "app", "code"],
    ["mfa", "passkey", "sign-in"],
    ["phr", "passkey", "sign-in"],
    ["phr mfa", "passkey", "sign-in"],
    ["unknown phr", "passkey", "sign-in"],
    ["unknown", "passkey", "code"],
  ])("%s, of a person with a password and %s: %s", async (acr_values, has, expected) => {
    expect(sentToClient(await browser.signIn(await browser.pageOf()))["code"]).toBeDefined();
    await setUp[has]();
    for (const attempt of [1, 2]) {
      const response = await browser.authorize({ acr_values });
      const next = stepOf(locationOf(response)) ?? (sentToClient(response)["code"] && "code");
      expect(next, `request ${attempt}`).toBe(expected);
    }
  });

  it("names the method that reaches it, and a sign-in without it is enough for the request", async () => {
    await browser.signIn(await browser.pageOf());
    await SoftwarePasskey.register("alice");
    const page = await browser.pageOf({ acr_values: "mfa" });
    const html = await (await browser.get(page)).text();
    expect(html).toContain("Example App prefers a sign-in with a passkey.");
    expect(sentToClient(await browser.signIn(page))["code"]).toBeDefined();
  });

  it("does not show a sign-in page that is opened again as done", async () => {
    await browser.signIn(await browser.pageOf());
    await SoftwarePasskey.register("alice");
    const page = await browser.pageOf({ acr_values: "phr" });
    expect(await (await browser.get(page)).text()).not.toContain("You are already signed in");
    await authEnv.DB.prepare("DELETE FROM webauthn_credentials").run();
    expect(await (await browser.get(page)).text()).toContain("You are already signed in");
  });
});
