/**
 * **How often the requests of a sign-in wait for something far away**, in a busy isolate: the calls that are made after each other, and how many
 * there are. ARCHITECTURE.md has the table.
 */

import { commitControlChange } from "@edge-op/shared/control/commit-control-change";
import { grantSubject } from "@edge-op/shared/leases/revocation-subject";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { type CallDepth, DepthMeter } from "../../../test/fixtures/call-depth.ts";
import { seedClient, seedOrganizations } from "../../../test/fixtures/seed.ts";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import {
  authEnv,
  Browser,
  codeClient,
  contextOf,
  formTokenOf,
  locationOf,
  password,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { AuthenticatorApp } from "./fixtures/authenticator-app.ts";
import { follow, MailedCodes, postOnce } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";
import {
  pressUpstream,
  StandInUpstream,
  seedUpstream,
  signInUpstream,
  upstreamIssuer,
} from "./fixtures/stand-in-upstream.ts";

useAnnouncedSetUp();

/** Leases outlast the test: a busy isolate renews them in the background. */
const bindings = { ...authEnv, LEASE_MS: "10000" };

let meter: DepthMeter<AuthEnv>;
let browser: Browser;

/** A busy isolate has a lease on every revocation shard. */
async function holdLeases(): Promise<void> {
  const context = contextOf(bindings);
  const { isolate } = fixtures;
  for (let shard = 0; shard < 8; shard += 1) {
    const address = { generation: 1, region: "wnam", shard };
    const subject = grantSubject({ grantId: "none", address }, { sub: "alice", clientId: "app" });
    for (let use = 0; use < 3; use += 1) {
      await isolate.revocation.isRevoked(context, [{ ...subject, versions: { client: 1, user: 1 } }]);
    }
  }
}

const { fixtures } = useDeployment();

beforeEach(async () => {
  await seedUpstream();
  meter = new DepthMeter(fixtures.app, bindings);
  browser = measured();
  // The isolate has read what it needs, and the person has consented once.
  for (let warmUp = 0; warmUp < 3; warmUp += 1) await fixtures.browser(bindings).authorize({ prompt: "none" });
  await fixtures.browser(bindings).signInWhole();
  await holdLeases();
});

function measured(): Browser {
  return new Browser({ app: meter.app }, meter.env);
}

const calls = (depth: number, object: number, d1: number): CallDepth => ({ depth, object, kv: 0, d1 });

async function post(page: string, fields: Readonly<Record<string, string>>): Promise<Response> {
  const form_token = formTokenOf(await (await browser.get(page)).text());
  return browser.post(page, { form_token, ...fields });
}

describe("depth of the requests of a sign-in", () => {
  it("by password, with a consent: 0, 0, 2, 1 and 2", async () => {
    const page = locationOf(await browser.authorize({ prompt: "consent" }));
    expect(meter.last).toEqual(calls(0, 0, 0));
    await browser.get(page);
    expect(meter.last).toEqual(calls(0, 0, 0));
    const consent = locationOf(await post(page, { username: "alice", password }));
    expect(meter.last).toEqual(calls(2, 3, 2));
    await browser.get(consent);
    expect(meter.last).toEqual(calls(1, 1, 0));
    expect(sentToClient(await post(consent, { decision: "allow" })).code).toBeDefined();
    expect(meter.last).toEqual(calls(2, 2, 1));
  });

  it("by password, to the code, with an earlier consent: 2", async () => {
    const page = locationOf(await browser.authorize());
    expect(sentToClient(await post(page, { username: "alice", password })).code).toBeDefined();
    expect(meter.last).toEqual(calls(2, 3, 2));
  });

  it("with TERMS_VERSION, of a person who has agreed, no more: by password and passkey in another browser, and silently", async () => {
    await authEnv.DB.prepare("UPDATE users SET terms_version = '1', terms_accepted_at_ms = 1").run();
    const passkey = await SoftwarePasskey.register("alice");
    const visit = () => {
      browser = measured();
      browser.env = { ...browser.env, TERMS_URL: "https://example.com/terms", TERMS_VERSION: "1" };
    };
    visit();
    const page = locationOf(await browser.authorize());
    expect(sentToClient(await post(page, { username: "alice", password })).code).toBeDefined();
    expect(meter.last).toEqual(calls(2, 3, 2));
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
    expect(meter.last).toEqual(calls(1, 1, 0));
    visit();
    const other = locationOf(await browser.authorize());
    const html = await (await browser.get(other)).text();
    const fields = { form_token: formTokenOf(html), credential: await passkey.assert(html) };
    expect(sentToClient(await browser.post(other, fields)).code).toBeDefined();
    expect(meter.last).toEqual(calls(2, 1, 3));
  });

  it("with an organisation to choose: 3 to the page, 2 for it, 3 for the choice; 2 for the only one in a session", async () => {
    await seedClient(authEnv, "corp", { ...codeClient, skip_consent: true, organization: "required" });
    await seedOrganizations(authEnv, ["acme", "beta"], ["alice"]);
    const asked = { client_id: "corp" };
    const choose = async () => {
      browser = measured();
      const page = locationOf(await browser.authorize(asked));
      const choice = locationOf(await post(page, { username: "alice", password }));
      const toPage = meter.last;
      const form_token = formTokenOf(await (await browser.get(choice)).text());
      const shown = meter.last;
      expect(sentToClient(await browser.post(choice, { form_token, organization: "acme" })).code).toBeDefined();
      return [toPage, shown, meter.last];
    };
    // The isolate reads the client and the membership once.
    await choose();
    await holdLeases();
    expect(await choose()).toEqual([calls(3, 3, 3), calls(2, 1, 1), calls(3, 2, 1)]);
    await authEnv.DB.prepare("DELETE FROM memberships WHERE org_id = 'beta'").run();
    expect(sentToClient(await browser.authorize({ ...asked, prompt: "none" })).code).toBeDefined();
    expect(meter.last).toEqual(calls(2, 1, 1));
  });

  it("by passkey, to the code, with an earlier consent: 2", async () => {
    const passkey = await SoftwarePasskey.register("alice");
    const page = locationOf(await browser.authorize());
    const html = await (await browser.get(page)).text();
    const fields = { form_token: formTokenOf(html), credential: await passkey.assert(html) };
    expect(sentToClient(await browser.post(page, fields)).code).toBeDefined();
    expect(meter.last).toEqual(calls(2, 1, 3));
  });

  it("by password and a code of an app: 1 to the page for the code, then 3", async () => {
    const app = await AuthenticatorApp.register("alice");
    const page = locationOf(await browser.authorize());
    const next = locationOf(await post(page, { username: "alice", password }));
    expect(meter.last).toEqual(calls(1, 1, 1));
    const code = await app.code();
    const form_token = formTokenOf(await (await browser.get(next)).text());
    expect(meter.last).toEqual(calls(1, 0, 1));
    expect(sentToClient(await browser.post(next, { form_token, code })).code).toBeDefined();
    expect(meter.last).toEqual(calls(3, 3, 4));
  });

  it("a forgotten password: 1 for the address, 1 for a wrong code, 2 for the right one", async () => {
    const mailed = new MailedCodes(meter.env);
    browser = new Browser({ app: meter.app }, mailed.env);
    const signIn = locationOf(await browser.authorize());
    const page = await follow(browser, signIn, { recover: "1" });
    expect(meter.last).toEqual(calls(0, 0, 0));
    const code = await follow(browser, page, { address: "alice@example.com" });
    expect(meter.last).toEqual(calls(1, 1, 0));
    await browser.once(code);
    expect(meter.last).toEqual(calls(0, 0, 0));
    await follow(browser, code, { code: mailed.wrongCode });
    expect(meter.last).toEqual(calls(1, 1, 0));
    const next = await follow(browser, code, { code: mailed.code });
    expect(meter.last).toEqual(calls(2, 1, 1));
    await browser.once(next);
    expect(meter.last).toEqual(calls(1, 0, 2));
  });

  it("by password in a new browser that needs a code: 2 to its page, then 3", async () => {
    const mailed = new MailedCodes({ ...meter.env, NEW_BROWSER: "code" } as AuthEnv);
    browser = new Browser({ app: meter.app }, mailed.env);
    const page = locationOf(await browser.authorize());
    const code = locationOf(await post(page, { username: "alice", password }));
    expect(meter.last).toEqual(calls(2, 3, 1));
    await browser.once(code);
    expect(meter.last).toEqual(calls(0, 0, 0));
    expect(sentToClient(await postOnce(browser, code, { code: mailed.code })).code).toBeDefined();
    expect(meter.last).toEqual(calls(3, 2, 3));
  });

  it("a wrong password: 2, and the page that says so 0", async () => {
    const page = locationOf(await browser.authorize());
    const form_token = formTokenOf(await (await browser.get(page)).text());
    const body = new URLSearchParams({ form_token, username: "alice", password: "wrong" }).toString();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const again = locationOf(await browser.once(page, { method: "POST", headers, body }));
    expect(meter.last).toEqual(calls(2, 2, 1));
    expect((await browser.get(again)).status).toBe(400);
    expect(meter.last).toEqual(calls(0, 0, 0));
  });

  it("a silent sign-in: 1, and without a session 0", async () => {
    await browser.signInWhole();
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
    expect(meter.last).toEqual(calls(1, 1, 0));
    expect(sentToClient(await measured().authorize({ prompt: "none" })).error).toBe("login_required");
    expect(meter.last).toEqual(calls(0, 0, 0));
  });

  it("another sign-in in the same session: 2", async () => {
    await browser.signInWhole();
    const page = locationOf(await browser.authorize({ prompt: "login" }));
    expect(sentToClient(await post(page, { username: "alice", password })).code).toBeDefined();
    expect(meter.last).toEqual(calls(2, 4, 2));
  });

  it("signing up, to the consent page: 1 for the mail, 2 for its code, 5 for the account with its session", async () => {
    meter = new DepthMeter(fixtures.app, { ...bindings, SIGN_UP: "open" } as AuthEnv);
    const codes = new MailedCodes(meter.env);
    browser = new Browser({ app: meter.app }, codes.env);
    const signUp = await follow(browser, locationOf(await browser.authorize()), { "sign-up": "1" });
    await browser.get(signUp);
    expect(meter.last).toEqual(calls(0, 0, 0));
    const code = await follow(browser, signUp, { name: "Nina", address: "nina@example.com" });
    expect(meter.last).toEqual(calls(1, 1, 0));
    const create = await follow(browser, code, { code: codes.code });
    expect(meter.last).toEqual(calls(2, 1, 1));
    const secret = "a long and new secret of Nina";
    const consent = await follow(browser, create, { new: secret, repeat: secret });
    expect(stepOf(consent)).toBe("consent");
    // No isolate has a copy of the new person: KV is asked, then D1.
    expect(meter.last).toEqual({ ...calls(5, 3, 4), kv: 2 });
  });
});

describe("depth of the requests of a sign-in at an upstream provider", () => {
  let upstream: StandInUpstream;

  beforeEach(async () => {
    upstream = new StandInUpstream({ claims: { email: "alice@example.com", email_verified: true } }).install();
    // The isolate has read the metadata and the keys of the provider.
    const earlier = fixtures.browser(bindings);
    await signInUpstream(earlier, locationOf(await earlier.authorize()), upstream);
  });

  afterEach(() => {
    vi.unstubAllGlobals();
  });

  const leave = async () => pressUpstream(browser, locationOf(await browser.authorize()));

  it("of a connected person, to the code, with an earlier consent: 1 and 3", async () => {
    await authEnv.DB.prepare("INSERT INTO user_identities VALUES ('idp', ?1, 'their-1', 'alice', 'label', 0, NULL)")
      .bind(upstreamIssuer)
      .run();
    const location = await leave();
    expect(meter.last).toEqual(calls(1, 1, 0));
    expect(sentToClient(await browser.once(upstream.signIn(location))).code).toBeDefined();
    expect(meter.last).toEqual(calls(3, 2, 3));
  });

  it("of a person who is asked to connect their account: 4 to the sign-in, then 1, 1 and 4", async () => {
    const signIn = locationOf(await browser.once(upstream.signIn(await leave())));
    expect(meter.last).toEqual(calls(4, 2, 2));
    const link = locationOf(await post(signIn, { username: "alice", password }));
    expect(stepOf(link)).toBe("link");
    expect(meter.last).toEqual(calls(1, 1, 1));
    await browser.get(link);
    expect(meter.last).toEqual(calls(1, 1, 1));
    expect(sentToClient(await post(link, { decision: "connect" })).code).toBeDefined();
    expect(meter.last).toEqual(calls(4, 3, 4));
  });
});

describe("depth of the requests of a provider that may end sessions", () => {
  let upstream: StandInUpstream;

  beforeEach(async () => {
    upstream = new StandInUpstream({ claims: { sid: "s1" } }).install();
    const may = "UPDATE upstreams SET document = json_set(document, '$.backchannel_logout', json('true'))";
    const insert = "INSERT INTO user_identities VALUES ('idp', ?1, 'their-1', 'alice', 'label', 0, NULL)";
    const { DB } = authEnv;
    const change = { kind: "upstreams", id: "*" } as const;
    await commitControlChange(
      contextOf(bindings),
      [DB.prepare(may), DB.prepare(insert).bind(upstreamIssuer)],
      [change],
    );
    const earlier = fixtures.browser(bindings);
    await signInUpstream(earlier, locationOf(await earlier.authorize()), upstream);
  });

  const post = async () =>
    (
      await browser.post("/upstream/idp/backchannel-logout", {
        logout_token: await upstream.logoutToken({ sid: "s1" }),
      })
    ).status;

  it("a sign-in: 2 to leave, and as any other to come back", async () => {
    const location = await pressUpstream(browser, locationOf(await browser.authorize()));
    expect(meter.last).toEqual(calls(2, 1, 1));
    await browser.once(upstream.signIn(location));
    expect(meter.last).toEqual(calls(3, 2, 3));
  });

  it("a logout token: 1 without a session, 5 with one that has a grant", async () => {
    expect(await post()).toBe(200);
    expect(meter.last).toEqual(calls(5, 3, 2));
    expect(await post()).toBe(200);
    expect(meter.last).toEqual(calls(1, 0, 1));
  });

  it("a revocation: 3 with a person, 2 without", async () => {
    const may = "UPDATE upstreams SET document = json_set(document, '$.global_token_revocation', json('true'))";
    await commitControlChange(contextOf(bindings), [authEnv.DB.prepare(may)], [{ kind: "upstreams", id: "*" }]);
    const path = "/upstream/idp/global-token-revocation";
    const ask = async (sub: string) => {
      const authorization = `Bearer ${await upstream.revocationToken(`https://op.example.com${path}`)}`;
      const headers = { authorization, "content-type": "application/json" };
      const body = JSON.stringify({ sub_id: { format: "iss_sub", iss: upstreamIssuer, sub } });
      return (await browser.once(path, { method: "POST", headers, body })).status;
    };
    // A new isolate reads the changed record.
    expect(await ask("nobody")).toBe(404);
    expect(await ask("nobody")).toBe(404);
    expect(meter.last).toEqual(calls(2, 0, 2));
    expect(await ask("their-1")).toBe(204);
    expect(meter.last).toEqual(calls(3, 1, 2));
  });
});

describe("depth and calls of the account pages", () => {
  it.each([
    ["/account", calls(2, 1, 1)],
    ["/account/security", calls(3, 2, 4)],
    ["/account/applications", calls(2, 1, 2)],
    ["/account/activity", calls(3, 1, 2)],
  ])("%s", async (page, expected) => {
    await browser.signInWhole();
    await browser.get(page);
    expect((await browser.get(page)).status).toBe(200);
    expect(meter.last).toEqual(expected);
  });
});
