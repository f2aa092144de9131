/**
 * **How often the requests of a person wait for something far away**: in a cold isolate, after a pause, in a busy isolate, and with an empty KV.
 * ARCHITECTURE.md has the table.
 */

import { grantSubject } from "@edge-op/shared/leases/revocation-subject";
import { beforeEach, describe, expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { type FetchApp, postForm } from "../../../test/fixtures/call.ts";
import { type MeasuredRequest, measureDepths } from "../../../test/fixtures/call-depth.ts";
import { seedClient, seedUser } from "../../../test/fixtures/seed.ts";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import type { AuthIsolate } from "../src/runtime/isolate.ts";
import {
  AuthFixtures,
  authEnv,
  authorizationQuery,
  Browser,
  contextOf,
  formTokenOf,
  locationOf,
  password,
  sentToClient,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { follow, MailedCodes } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

useAnnouncedSetUp();

/** Leases of a busy isolate outlast its request. */
const bindings = { ...authEnv, LEASE_MS: "10000" };

const isolates = new WeakMap<FetchApp<AuthEnv>, AuthIsolate>();

/** A busy isolate has a lease on every revocation shard. */
async function holdLeases(app: FetchApp<AuthEnv>): Promise<void> {
  const isolate = isolates.get(app)!;
  const hold = async (shard: number) => {
    const address = { generation: 1, region: "wnam", shard };
    const subject = grantSubject({ grantId: "none", address }, { sub: "alice", clientId: "app" });
    for (let use = 0; use < 3; use += 1) {
      const context = contextOf(bindings);
      await isolate.revocation.isRevoked(context, [{ ...subject, versions: { client: 1, user: 1 } }]);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, shard) => hold(shard)));
}

/** Sends the request of a browser whose earlier requests another isolate has served. */
type Send = (browser: Browser) => Promise<Response>;

const { fixtures, browser: signedIn } = useDeployment();

beforeEach(async () => {
  // The person has consented once.
  await signedIn.signInWhole();
});

/** With `codes`, the deployment has a provider of mail. */
function measured(
  prepare: (before: Browser) => Promise<Send>,
  { known, codes }: { readonly known?: Browser; readonly codes?: MailedCodes } = {},
): MeasuredRequest<AuthEnv> {
  return {
    holdLeases,
    createApp() {
      const { app, isolate } = new AuthFixtures(fixtures.client);
      isolates.set(app, isolate);
      return app;
    },
    async send(app, env) {
      const before = known ?? fixtures.browser(codes?.env);
      const send = await prepare(before);
      const browser = new Browser({ app }, codes === undefined ? env : new MailedCodes(env).env);
      for (const [name, value] of before.cookies) browser.cookies.set(name, value);
      return send(browser);
    },
  };
}

function withCode(response: Response): Response {
  expect(sentToClient(response).code).toBeDefined();
  return response;
}

async function openForm(browser: Browser, page: string): Promise<string> {
  return formTokenOf(await (await browser.get(page)).text());
}

/** The same step may be shown again after it, which is another request. */
function sendForm(browser: Browser, page: string, fields: Readonly<Record<string, string>>): Promise<Response> {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return browser.once(page, { method: "POST", headers, body: new URLSearchParams(fields).toString() });
}

/** A browser at the consent page. */
async function consentPage(browser: Browser): Promise<string> {
  return locationOf(await browser.signIn(locationOf(await browser.authorize({ prompt: "consent" }))));
}

const typed = { username: "alice", password };
const newPassword = "purple monkey dishwasher 42";

describe("depth: cold, after a pause, busy, with an empty KV", { retry: 2, timeout: 60_000 }, () => {
  it("authorization requests", async () => {
    const depths = await measureDepths(authEnv, {
      "without a session": measured(async () => (browser) => browser.authorize()),
      "prompt=none": measured(async () => async (browser) => withCode(await browser.authorize({ prompt: "none" })), {
        known: signedIn,
      }),
      "prompt=none without a session": measured(async () => (browser) => browser.authorize({ prompt: "none" })),
    });
    expect(depths).toEqual({
      "without a session": { cold: 2, afterPause: 1, busy: 0, emptyKv: 3 },
      "prompt=none": { cold: 3, afterPause: 2, busy: 1, emptyKv: 4 },
      "prompt=none without a session": { cold: 2, afterPause: 1, busy: 0, emptyKv: 3 },
    });
  });

  it("pages and forms of a sign-in", async () => {
    const passkey = await SoftwarePasskey.register("alice");
    const depths = await measureDepths(authEnv, {
      "the sign-in page": measured(async (before) => {
        const page = locationOf(await before.authorize());
        return (browser) => browser.get(page);
      }),
      "a password, to the consent page": measured(async (before) => {
        const page = locationOf(await before.authorize({ prompt: "consent" }));
        const form_token = await openForm(before, page);
        return (browser) => browser.post(page, { form_token, ...typed });
      }),
      "the consent page": measured(async (before) => {
        const page = await consentPage(before);
        return (browser) => browser.get(page);
      }),
      "a consent, to the code": measured(async (before) => {
        const page = await consentPage(before);
        const form_token = await openForm(before, page);
        return async (browser) => withCode(await browser.post(page, { form_token, decision: "allow" }));
      }),
      "a password, to the code": measured(async (before) => {
        const page = locationOf(await before.authorize());
        const form_token = await openForm(before, page);
        return async (browser) => withCode(await browser.post(page, { form_token, ...typed }));
      }),
      "a passkey, to the code": measured(async (before) => {
        const page = locationOf(await before.authorize());
        const html = await (await before.get(page)).text();
        const fields = { form_token: formTokenOf(html), credential: await passkey.assert(html) };
        return async (browser) => withCode(await browser.post(page, fields));
      }),
    });
    expect(depths).toEqual({
      "the sign-in page": { cold: 2, afterPause: 1, busy: 0, emptyKv: 3 },
      "a password, to the consent page": { cold: 5, afterPause: 3, busy: 2, emptyKv: 6 },
      "the consent page": { cold: 3, afterPause: 2, busy: 1, emptyKv: 4 },
      "a consent, to the code": { cold: 4, afterPause: 3, busy: 2, emptyKv: 5 },
      "a password, to the code": { cold: 5, afterPause: 3, busy: 2, emptyKv: 6 },
      "a passkey, to the code": { cold: 5, afterPause: 3, busy: 2, emptyKv: 6 },
    });
  });

  it("a sign-in by password with a consent, all requests together", async () => {
    const depths = await measureDepths(authEnv, {
      "all requests": measured(
        async () => async (browser) => withCode(await browser.allow(await consentPage(browser))),
      ),
    });
    expect(depths).toEqual({
      "all requests": { cold: 9, afterPause: 7, busy: 5, emptyKv: 11 },
    });
  });

  it("a forgotten password", async () => {
    const codes = new MailedCodes();
    const recovery = (prepare: (before: Browser) => Promise<Send>) => measured(prepare, { codes });
    const recoverPage = async (before: Browser) =>
      follow(before, locationOf(await before.authorize()), { recover: "1" });
    // An address gets three codes at once.
    let addresses = 0;
    const codePage = async (before: Browser) => {
      addresses += 1;
      const address = `person${addresses}@example.com`;
      await seedUser(authEnv, `person${addresses}`, { claims: { email: address, email_verified: true } });
      return follow(before, await recoverPage(before), { address });
    };
    const depths = await measureDepths(authEnv, {
      "the page for the address": recovery(async (before) => {
        const page = await recoverPage(before);
        return (browser) => browser.get(page);
      }),
      "the address": recovery(async (before) => {
        const page = await recoverPage(before);
        const form_token = await openForm(before, page);
        addresses += 1;
        return (browser) => sendForm(browser, page, { form_token, address: `nobody${addresses}@example.com` });
      }),
      "its code, of an account that no isolate has read": recovery(async (before) => {
        const page = await codePage(before);
        const form_token = await openForm(before, page);
        return (browser) => sendForm(browser, page, { form_token, code: codes.code });
      }),
      "the page for the new password": recovery(async (before) => {
        const page = await follow(before, await codePage(before), { code: codes.code });
        return (browser) => browser.get(page);
      }),
      "the new password, to the consent page": recovery(async (before) => {
        const page = await follow(before, await codePage(before), { code: codes.code });
        const form_token = await openForm(before, page);
        return (browser) => sendForm(browser, page, { form_token, new: newPassword, repeat: newPassword });
      }),
    });
    expect(depths).toEqual({
      "the page for the address": { cold: 2, afterPause: 1, busy: 0, emptyKv: 3 },
      "the address": { cold: 3, afterPause: 2, busy: 1, emptyKv: 4 },
      "its code, of an account that no isolate has read": { cold: 4, afterPause: 3, busy: 2, emptyKv: 5 },
      "the page for the new password": { cold: 3, afterPause: 2, busy: 1, emptyKv: 4 },
      "the new password, to the consent page": { cold: 8, afterPause: 7, busy: 6, emptyKv: 9 },
    });
  });

  it("signing up", async () => {
    const open = { ...authEnv, SIGN_UP: "open" } as AuthEnv;
    const codes = new MailedCodes(open);
    const signUp = (prepare: (before: Browser) => Promise<Send>) => measured(prepare, { codes });
    const signUpPage = async (before: Browser) => locationOf(await before.authorize({ prompt: "create" }));
    let addresses = 0;
    const newcomer = () => {
      addresses += 1;
      return { name: "Nina", address: `nina${addresses}@example.com` };
    };
    const created = async (before: Browser) => {
      const page = await follow(before, await signUpPage(before), newcomer());
      return follow(before, page, { code: codes.code });
    };
    const depths = await measureDepths(open, {
      "the page for the address": signUp(async (before) => {
        const page = await signUpPage(before);
        return (browser) => browser.get(page);
      }),
      "the address": signUp(async (before) => {
        const page = await signUpPage(before);
        const form_token = await openForm(before, page);
        return (browser) => sendForm(browser, page, { form_token, ...newcomer() });
      }),
      "its code": signUp(async (before) => {
        const page = await follow(before, await signUpPage(before), newcomer());
        const form_token = await openForm(before, page);
        return (browser) => sendForm(browser, page, { form_token, code: codes.code });
      }),
      "the page for a passkey or password": signUp(async (before) => {
        const page = await created(before);
        return (browser) => browser.get(page);
      }),
      "a password, to the consent page": signUp(async (before) => {
        const page = await created(before);
        const form_token = await openForm(before, page);
        return (browser) => sendForm(browser, page, { form_token, new: newPassword, repeat: newPassword });
      }),
    });
    expect(depths).toEqual({
      "the page for the address": { cold: 2, afterPause: 1, busy: 0, emptyKv: 3 },
      "the address": { cold: 3, afterPause: 2, busy: 1, emptyKv: 4 },
      "its code": { cold: 4, afterPause: 3, busy: 2, emptyKv: 5 },
      "the page for a passkey or password": { cold: 2, afterPause: 1, busy: 0, emptyKv: 3 },
      "a password, to the consent page": { cold: 7, afterPause: 6, busy: 5, emptyKv: 7 },
    });
  });

  it("requests of clients and account pages", async () => {
    const device = await seedClient(authEnv, "device", {
      grant_types: ["urn:ietf:params:oauth:grant-type:device_code"],
      scope: "openid",
    });
    const request = Object.fromEntries(authorizationQuery());
    const depths = await measureDepths(authEnv, {
      "/par": measured(
        async () =>
          ({ app, env }) =>
            postForm(app, env, "/par", request, fixtures.client),
      ),
      "/device_authorization": measured(
        async () =>
          ({ app, env }) =>
            postForm(app, env, "/device_authorization", { scope: "openid" }, device),
      ),
      "/account": measured(async () => (browser) => browser.get("/account"), { known: signedIn }),
      "/account/security": measured(async () => (browser) => browser.get("/account/security"), { known: signedIn }),
      "/account/applications": measured(async () => (browser) => browser.get("/account/applications"), {
        known: signedIn,
      }),
      "/account/activity": measured(async () => (browser) => browser.get("/account/activity"), { known: signedIn }),
      "/account/password": measured(async () => (browser) => browser.get("/account/password"), { known: signedIn }),
    });
    expect(depths).toEqual({
      "/par": { cold: 2, afterPause: 1, busy: 1, emptyKv: 3 },
      "/device_authorization": { cold: 2, afterPause: 1, busy: 1, emptyKv: 3 },
      "/account": { cold: 4, afterPause: 3, busy: 2, emptyKv: 5 },
      "/account/security": { cold: 5, afterPause: 4, busy: 3, emptyKv: 6 },
      "/account/applications": { cold: 5, afterPause: 3, busy: 2, emptyKv: 6 },
      "/account/activity": { cold: 5, afterPause: 4, busy: 3, emptyKv: 6 },
      "/account/password": { cold: 4, afterPause: 3, busy: 2, emptyKv: 5 },
    });
  });
});
