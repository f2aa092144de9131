/** **Passkeys without a click, signals to authenticators, related origins.** */

import { describe, expect, it } from "vitest";
import { authEnv, formTokenOf, locationOf, sentToClient, useDeployment } from "./fixtures/auth-fixtures.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

const { DB } = authEnv;

const { fixtures, browser } = useDeployment({ skip_consent: true });

async function signInByPassword(visitor = browser): Promise<void> {
  await visitor.signIn(locationOf(await visitor.get("/account/security")));
}

async function signInBy(passkey: SoftwarePasskey): Promise<void> {
  const page = locationOf(await browser.get("/account/security"));
  const html = await (await browser.get(page)).text();
  await browser.post(page, { form_token: formTokenOf(html), credential: await passkey.assert(html) });
}

const ceremonyOf = (html: string) => /name="ceremony" value="([^"]+)"/.exec(html)?.[1] ?? "";

/** Posts a passkey that the browser has created without asking. */
async function upgrade(html: string, fields: Readonly<Record<string, string>> = { conditional: "1" }): Promise<string> {
  const { credential } = await SoftwarePasskey.create(html, { isVerified: false });
  const form_token = formTokenOf(html);
  return locationOf(
    await browser.post("/account/passkeys", { form_token, ceremony: ceremonyOf(html), credential, ...fields }),
  );
}

const account = async () => (await browser.get("/account/security")).text();
const passkeys = () => DB.prepare("SELECT count(*) AS n FROM webauthn_credentials").first<number>("n");

function signalOf(html: string): Record<string, Record<string, unknown>> | undefined {
  const text = /data-passkey-signal="([^"]+)"/.exec(html)?.[1]?.replaceAll("&quot;", '"');
  return text === undefined ? undefined : (JSON.parse(text) as Record<string, Record<string, unknown>>);
}

describe("WebAuthn Level 3 §5.1.3: a passkey that the browser creates without asking", () => {
  it("is added after a sign-in by password, though nobody was seen or verified, and signs in afterwards", async () => {
    await signInByPassword();
    const html = await account();
    expect(html).toContain('name="conditional"');
    expect(await upgrade(html)).toMatch(/notice=passkey-added$/);
    expect(await passkeys()).toBe(1);
    expect(await account()).not.toContain('name="conditional"');
  });

  it("without the field, such a passkey is refused", async () => {
    await signInByPassword();
    expect(await upgrade(await account(), {})).toMatch(/notice=passkey-failed$/);
    expect(await passkeys()).toBe(0);
  });

  it("without the proof of a password it is refused", async () => {
    const passkey = await SoftwarePasskey.register("alice");
    await signInBy(passkey);
    await DB.prepare("DELETE FROM webauthn_credentials").run();
    const html = await account();
    expect(html).not.toContain('name="conditional"');
    expect(await upgrade(html)).toMatch(/notice=passkey-failed$/);
    expect(await passkeys()).toBe(0);
  });
});

it("WebAuthn §7.1: a registration that is sent again adds nothing, also after its passkey was removed", async () => {
  await signInByPassword();
  const html = await account();
  const { credential } = await SoftwarePasskey.create(html);
  const send = async () => {
    const form_token = formTokenOf(await account());
    return locationOf(await browser.post("/account/passkeys", { form_token, ceremony: ceremonyOf(html), credential }));
  };
  expect(await send()).toMatch(/notice=passkey-added$/);
  await DB.prepare("DELETE FROM webauthn_credentials").run();
  expect(await send()).toMatch(/notice=passkey-failed$/);
  expect(await passkeys()).toBe(0);
});

describe("WebAuthn Level 3 §5.1.10: signals", () => {
  it("the account page lists all passkeys of the person and their present names", async () => {
    const passkey = await SoftwarePasskey.register("alice");
    await signInByPassword();
    const { accepted, details } = signalOf(await account())!;
    expect(accepted).toMatchObject({ rpId: "op.example.com", allAcceptedCredentialIds: [passkey.id] });
    expect(details).toMatchObject({ userId: accepted!["userId"], name: "alice", displayName: "Alice Example" });
    await DB.prepare("DELETE FROM webauthn_credentials").run();
    expect(signalOf(await account())!["accepted"]).toMatchObject({ allAcceptedCredentialIds: [] });
  });

  it("a passkey is called unknown only if nobody has it", async () => {
    const known = await SoftwarePasskey.register("alice");
    const suspended = await SoftwarePasskey.register("mallory");
    const removed = await SoftwarePasskey.register("bob");
    await DB.prepare("DELETE FROM webauthn_credentials WHERE sub = 'bob'").run();
    const told: unknown[] = [];
    for (const credential of [
      (html: string) => removed.assert(html),
      (html: string) => known.forge(html),
      (html: string) => suspended.assert(html),
      () => Promise.resolve("{}"),
    ]) {
      const visitor = fixtures.browser();
      const page = locationOf(await visitor.authorize());
      const html = await (await visitor.get(page)).text();
      const again = await visitor.post(page, { form_token: formTokenOf(html), credential: await credential(html) });
      told.push(signalOf(await again.text()));
    }
    const unknown = { rpId: "op.example.com", credentialId: removed.id };
    expect(told).toEqual([{ unknown }, undefined, undefined, undefined]);
  });
});

describe("WebAuthn Level 3 §5.11: related origins", () => {
  const related = "https://example.org";

  it.each([
    ["listed in PASSKEY_ORIGINS", `${related} https://example.net`, true],
    ["not listed", "https://example.net", false],
  ])("a passkey of an origin that is %s", async (_, PASSKEY_ORIGINS, isAccepted) => {
    const passkey = await SoftwarePasskey.register("alice");
    browser.restart({ ...authEnv, PASSKEY_ORIGINS });
    const page = locationOf(await browser.authorize());
    const html = await (await browser.get(page)).text();
    const credential = await passkey.assert(html, { at: related });
    const response = await browser.post(page, { form_token: formTokenOf(html), credential });
    expect(response.status).toBe(isAccepted ? 303 : 400);
    if (isAccepted) expect(sentToClient(response).code).toBeDefined();
  });
});
