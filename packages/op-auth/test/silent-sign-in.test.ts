import { passwordAcr } from "@edge-op/protocol/oauth/authentication-context";
import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import { cutOffUntilMs, recordNewest } from "@edge-op/shared/cut-offs/cut-offs";
import { countCalls } from "@edge-op/shared/http/count-calls";
import type { RevocationShard } from "@edge-op/shared/leases/revocation-shard-rpc";
import { signIdToken } from "@edge-op/shared/tokens/id-token";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { grantNow } from "../../../test/fixtures/grant-now.ts";
import { seedClient } from "../../../test/fixtures/seed.ts";
import {
  type AuthorizationParameters,
  authEnv,
  codeClient,
  contextOf,
  locationOf,
  redirectUri,
  sentToClient,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

useAnnouncedSetUp();

const { fixtures, browser } = useDeployment();

async function silently(parameters: AuthorizationParameters = {}): Promise<Record<string, string>> {
  return sentToClient(await browser.authorize({ prompt: "none", ...parameters }));
}

async function idTokenOf(sub: string, clientId = "app"): Promise<string> {
  const context = contextOf();
  const client = await fixtures.isolate.clients.find(context, clientId);
  return signIdToken(context, fixtures.isolate, {
    grant: await grantNow(context, fixtures.isolate),
    client: client!,
    sub,
    nonce: undefined,
    sid: undefined,
    authTimeSeconds: undefined,
    acr: undefined,
    amr: undefined,
    accessToken: "access-token",
    code: undefined,
    userClaims: {},
  });
}

describe("prompt=none", () => {
  it("OIDC Core §3.1.2.6: without a session: login_required", async () => {
    expect((await silently()).error).toBe("login_required");
  });

  it("OIDC Core §3.1.2.6: signed in without consent: consent_required", async () => {
    await browser.signIn(locationOf(await browser.authorize()));
    expect((await silently()).error).toBe("consent_required");
  });

  it("OIDC Core §3.1.2.1: signed in and consented: a code at once", async () => {
    await browser.signInWhole();
    expect((await silently()).code).toBeDefined();
  });

  it("OIDC Core §3.1.2.6: more scope than consented: consent_required", async () => {
    await browser.signInWhole({ scope: "openid" });
    expect((await silently({ scope: "openid email" })).error).toBe("consent_required");
  });

  it("a cookie that names an unknown or another shard is not a session", async () => {
    await browser.signInWhole();
    const id = browser.cookies.get("__Host-op-session")!;
    for (const forged of ["x", id.replace("g1.", "g9."), `${id.slice(0, -1)}_`, id.replace(".wnam.", ".enam.")]) {
      browser.cookies.set("__Host-op-session", forged);
      expect((await silently()).error).toBe("login_required");
    }
  });

  it("a suspended user's session is not used", async () => {
    await browser.signInWhole();
    await authEnv.DB.batch([
      authEnv.DB.prepare("UPDATE users SET status = 'suspended' WHERE sub = 'alice'"),
      authEnv.DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('user', 'alice', 0)"),
    ]);
    await publishControlChange();
    expect((await silently()).error).toBe("login_required");
  });

  it("revoking everything of a subject also ends the session", async () => {
    await browser.signInWhole();
    await raise({ cutOffs: [{ key: "nb:sub:alice", version: 1_000, untilMs: Date.now() + 3_600_000 }] });
    expect((await silently()).error).toBe("login_required");
  });

  it("ADR 28: a session from before a cut-off stays ended after the shards have deleted the cut-off; a later one is valid", async () => {
    await browser.signInWhole();
    await cutOffInRecords("nb:sub:alice");
    expect((await silently()).error).toBe("login_required");
    await browser.signInWhole();
    expect((await silently()).error).toBeUndefined();
  });
});

/** The remains of a cut-off after a day: its change, and the row that is read with the record. */
async function cutOffInRecords(key: string): Promise<void> {
  await authEnv.DB.batch([
    authEnv.DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('cut-off', ?1, ?2)").bind(
      key,
      Date.now(),
    ),
    recordNewest(authEnv.DB, { key, untilMs: cutOffUntilMs(Date.now()) }),
  ]);
  await publishControlChange();
}

/** Raises D1's newest version on every shard, like ControlPlane after a change. */
async function publishControlChange(): Promise<void> {
  const row = await authEnv.DB.prepare("SELECT max(version) AS cv FROM control_changes").first<{ cv: number }>();
  await raise({ cv: row!.cv });
}

async function raise(change: Parameters<DurableObjectStub<RevocationShard>["raise"]>[0]): Promise<void> {
  const namespace = authEnv.TOKEN_REVOCATION_STORE;
  const names = Array.from({ length: 8 }, (_, shard) => `revocation:g1:wnam:${shard}`);
  await Promise.all(names.map((name) => namespace.get(namespace.idFromName(name)).raise(change, true)));
}

describe("cost", () => {
  it("a warm silent sign-in makes 1 object call, 0 KV, 0 D1", async () => {
    await browser.signInWhole();
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await silently();
    const counts = { object: 0, kv: 0, d1: 0 };
    const counted = fixtures.copyOf(browser, countCalls(authEnv, counts));
    expect(sentToClient(await counted.authorize({ prompt: "none" })).code).toBeDefined();
    expect(counts).toEqual({ object: 1, kv: 0, d1: 0 });
  });

  it("a refused silent sign-in without a session makes no object call for one", async () => {
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await silently();
    const counts = { object: 0, kv: 0, d1: 0 };
    const counted = fixtures.browser(countCalls(authEnv, counts));
    await counted.authorize({ prompt: "none" });
    expect(counts).toEqual({ object: 0, kv: 0, d1: 0 });
  });
});

describe("when to sign in again", () => {
  beforeEach(async () => {
    await browser.signInWhole();
  });

  it("OIDC Core §3.1.2.1: prompt=login requires a new sign-in once, despite a session", async () => {
    const page = locationOf(await browser.authorize({ prompt: "login" }));
    expect(page).toMatch(/sign-in\?f=/);
    expect(sentToClient(await browser.signIn(page)).code).toBeDefined();
  });

  it("OIDC Core §3.1.2.1: prompt=consent shows the consent page despite earlier consent", async () => {
    const page = locationOf(await browser.authorize({ prompt: "consent" }));
    expect(page).toMatch(/consent\?f=/);
    expect(sentToClient(await browser.allow(page)).code).toBeDefined();
  });

  it("OIDC Core §3.1.2.1: prompt=select_account lets the user continue or change the account", async () => {
    const page = locationOf(await browser.authorize({ prompt: "select_account" }));
    expect(page).toMatch(/select-account\?f=/);
    expect(await (await browser.get(page)).text()).toContain("Alice Example");
    expect(sentToClient(await browser.submit(page, { account: "current" })).code).toBeDefined();

    const again = locationOf(await browser.authorize({ prompt: "select_account" }));
    const other = locationOf(await browser.submit(again, { account: "other" }));
    expect(other).toMatch(/sign-in\?f=/);
    const consent = locationOf(await browser.signIn(other, "bob"));
    const { code } = sentToClient(await browser.allow(consent));
    expect((await fixtures.payloadOf(code!)).sub).toBe("bob");
  });

  it("OIDC Core §3.1.2.1: max_age counts from the sign-in", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 100_000);
    expect((await silently({ max_age: "90" })).error).toBe("login_required");
    expect((await silently({ max_age: "110" })).code).toBeDefined();
    const page = locationOf(await browser.authorize({ max_age: "0" }));
    const response = sentToClient(await browser.signIn(page));
    expect((await fixtures.payloadOf(response.code!)).authTimeSeconds).toBe(Math.floor(Date.now() / 1000));
  });

  it("OIDC Core §3.1.2.1: a client's default_max_age applies to a request without max_age", async () => {
    await seedClient(authEnv, "cautious", { ...codeClient, skip_consent: true, default_max_age: 60 });
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 100_000);
    expect((await silently({ client_id: "cautious" })).error).toBe("login_required");
    expect((await silently({ client_id: "cautious", max_age: "1000" })).code).toBeDefined();
  });

  it("OIDC Core §3.1.2.1: id_token_hint names the expected user", async () => {
    expect((await silently({ id_token_hint: await idTokenOf("alice") })).code).toBeDefined();
    expect((await silently({ id_token_hint: await idTokenOf("bob") })).error).toBe("login_required");
    const page = locationOf(await browser.authorize({ id_token_hint: await idTokenOf("bob") }));
    expect(sentToClient(await browser.signIn(page, "alice")).error).toBe("login_required");
  });

  it("OIDC Core §3.1.2.1: an expired id_token_hint still counts", async () => {
    const hint = await idTokenOf("alice");
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 7_200_000);
    expect((await silently({ id_token_hint: hint })).code).toBeDefined();
  });

  it("OIDC Core §5.5.1: a sub value in the claims parameter names the expected user", async () => {
    const wanting = (sub: string) => ({ claims: JSON.stringify({ id_token: { sub: { value: sub } } }) });
    expect((await silently(wanting("alice"))).code).toBeDefined();
    expect((await silently(wanting("bob"))).error).toBe("login_required");
  });

  it("OIDC Core §5.5.1.1: an essential acr that was not reached requires a sign-in, and then fails", async () => {
    const wanting = (value: string) => ({
      claims: JSON.stringify({ id_token: { acr: { essential: true, values: [value] } } }),
    });
    expect((await silently(wanting(passwordAcr))).code).toBeDefined();
    expect((await silently(wanting("phr"))).error).toBe("login_required");
    const page = locationOf(await browser.authorize(wanting("phr")));
    expect(await (await browser.get(page)).text()).not.toContain('name="password"');
    expect((await silently(wanting("urn:never"))).error).toBe("unmet_authentication_requirements");
  });
});

describe("OIDC Core §5.5.1.1: a preferred acr of a person who can reach it", () => {
  beforeEach(async () => {
    await SoftwarePasskey.register("alice");
    await browser.signInWhole();
  });

  it("is requested once by a page, and the sign-in made then suffices", async () => {
    const page = locationOf(await browser.authorize({ acr_values: "phr" }));
    expect(page).toMatch(/sign-in\?f=/);
    expect(await (await browser.get(page)).text()).toContain('name="password"');
    expect(sentToClient(await browser.signIn(page)).code).toBeDefined();
  });

  it("does not make a silent request fail, and is satisfied by a session with one of the values", async () => {
    expect((await silently({ acr_values: "phr" })).code).toBeDefined();
    const both = await browser.authorize({ acr_values: `phr ${passwordAcr}` });
    expect(sentToClient(both).code).toBeDefined();
    expect(sentToClient(await browser.authorize({ acr_values: "urn:never 1" })).code).toBeDefined();
  });

  it("default_acr_values apply if a request names none; acr_values and the claims parameter override them", async () => {
    const metadata = { ...codeClient, skip_consent: true, default_acr_values: ["phr"] };
    await seedClient(authEnv, "cautious", metadata);
    const password = passwordAcr;
    expect(locationOf(await browser.authorize({ client_id: "cautious" }))).toMatch(/sign-in\?f=/);
    expect((await silently({ client_id: "cautious" })).code).toBeDefined();
    const named = await browser.authorize({ client_id: "cautious", acr_values: password });
    expect(sentToClient(named).code).toBeDefined();
    const claims = JSON.stringify({ id_token: { acr: { values: [password] } } });
    expect(sentToClient(await browser.authorize({ client_id: "cautious", claims })).code).toBeDefined();
  });
});

describe("the content of the code", () => {
  it("OIDC Core §2: who signed in, when, how, and for which session", async () => {
    const response = await browser.signInWhole({ claims: '{"userinfo":{"email":{"essential":true}}}' });
    const payload = await fixtures.payloadOf(response.get("code")!);
    expect(payload).toMatchObject({
      clientId: "app",
      redirectUri,
      scope: ["openid", "profile"],
      nonce: "the-nonce",
      sub: "alice",
      acr: "urn:edge-op:acr:password",
      amr: ["pwd"],
      sid: expect.stringMatching(/^g1\.wnam\.\d\.[\w-]{22}$/),
      claims: { userinfo: { email: { essential: true } } },
      refreshable: false,
    });
    expect(payload.pairwiseSub).toBeUndefined();
  });

  it("OIDC Core §5.5: claims beyond the client's registered scope are omitted, also without a consent page", async () => {
    await seedClient(authEnv, "narrow", { ...codeClient, scope: "openid email roles", skip_consent: true });
    await browser.signInWhole();
    const asked = { name: null, email: null, phone_number: { essential: true }, roles: null, groups: null, acr: null };
    const claims = JSON.stringify({ userinfo: asked, id_token: { ...asked, auth_time: { essential: true } } });
    const response = await silently({ client_id: "narrow", scope: "openid", claims });
    expect((await fixtures.payloadOf(response.code!)).claims).toEqual({
      userinfo: { email: null, roles: null, acr: null },
      id_token: { email: null, roles: null, acr: null, auth_time: { essential: true } },
    });
  });

  it("OIDC Core §8.1: only an https host is a sector; otherwise the client is its own sector", async () => {
    const pairwise = { ...codeClient, subject_type: "pairwise", skip_consent: true } as const;
    const clients = {
      bank: ["https://bank.example/cb"],
      "bank-app": ["https://bank.example/app"],
      evil: ["com.evil.app://bank.example/cb"],
      mixed: ["com.evil.app://bank.example/cb", "https://bank.example/cb"],
      "bank.example": ["com.other.app:/cb"],
      loopback: ["http://127.0.0.1/cb"],
      loopback2: ["http://127.0.0.1/cb"],
      "loopback-tls": ["https://localhost/cb"],
      "loopback-tls2": ["https://localhost/cb"],
    };
    const context = contextOf();
    const subjects = new Map<string, string | undefined>();
    for (const [clientId, redirect_uris] of Object.entries(clients)) {
      await seedClient(authEnv, clientId, { ...pairwise, redirect_uris });
      const client = (await fixtures.isolate.clients.find(context, clientId))!;
      subjects.set(clientId, await pairwiseSubject(authEnv, client, "alice"));
    }
    expect(subjects.get("bank-app")).toBe(subjects.get("bank"));
    expect(new Set(subjects.values()).size).toBe(subjects.size - 1);
  });

  it("OIDC Core §8.1: pairwise subjects are the same within a sector and differ between sectors", async () => {
    const pairwise = { ...codeClient, subject_type: "pairwise", skip_consent: true } as const;
    const other = "https://other.example.net/cb";
    await seedClient(authEnv, "one", pairwise);
    await seedClient(authEnv, "two", pairwise);
    await seedClient(authEnv, "three", { ...pairwise, redirect_uris: [other] });
    await browser.signInWhole();
    const one = (await fixtures.payloadOf((await silently({ client_id: "one" })).code!)).pairwiseSub;
    const two = (await fixtures.payloadOf((await silently({ client_id: "two" })).code!)).pairwiseSub;
    const location = locationOf(await browser.authorize({ client_id: "three", redirect_uri: other, prompt: "none" }));
    expect(one).toMatch(/^[\w-]{22}$/);
    expect(two).toBe(one);
    expect(location).toContain("code=");
  });

  it("OIDC Core §11: offline_access requires a client that may refresh, and a person's consent", async () => {
    const scope = "openid offline_access";
    const asked = await browser.signInWhole({ scope, prompt: "consent" });
    expect(await fixtures.payloadOf(asked.get("code")!)).toMatchObject({
      refreshable: true,
      scope: ["openid", "offline_access"],
    });
    expect(await fixtures.payloadOf((await silently({ scope })).code!)).toMatchObject({
      refreshable: false,
      scope: ["openid"],
    });

    await seedClient(authEnv, "never", { ...codeClient, grant_types: ["authorization_code"], skip_consent: true });
    const never = sentToClient(await browser.authorize({ client_id: "never", scope }));
    expect(await fixtures.payloadOf(never.code!)).toMatchObject({ refreshable: false, scope: ["openid"] });
  });

  it("first-party clients have their administrator's consent", async () => {
    await seedClient(authEnv, "own", { ...codeClient, skip_consent: true });
    const page = locationOf(await browser.authorize({ client_id: "own" }));
    expect(sentToClient(await browser.signIn(page)).code).toBeDefined();
  });
});
