/**
 * **O3: what an organisation's connection says counts for this organisation alone** (shared/src/sessions/usable-proofs.ts), at every place that reads
 * the proofs of a session or a flow. Hostile cases: 5 (the administrator's address inside A), 7 (A's session, then B silently), 8 (A's session, then
 * the account pages), 9 (an old sealed page, continued for another organisation). Random histories are in organization-proofs-simulation.test.ts.
 */

import type { Proof, Session } from "@edge-op/shared/sessions/session-rpc";
import { joinProofs, restOnConnection, seenFor, usableProofs } from "@edge-op/shared/sessions/usable-proofs";
import { beforeEach, describe, expect, it } from "vitest";
import { postForm } from "../../../test/fixtures/call.ts";
import { seedClient, seedOrganizations } from "../../../test/fixtures/seed.ts";
import {
  type AuthorizationParameters,
  authEnv,
  codeClient,
  countRows,
  locationOf,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { comeBack } from "./fixtures/connection-sign-in.ts";

const { DB } = authEnv;
const { fixtures, browser } = useDeployment();
const first = { client_id: "corp" };
const third = { client_id: "third" };
const acme = { ...first, organization: "acme" };

beforeEach(async () => {
  const client = { ...codeClient, require_pkce: false, organization: "allowed" } as const;
  await seedClient(authEnv, "corp", { ...client, skip_consent: true });
  await seedClient(authEnv, "third", client);
  await seedOrganizations(authEnv, ["acme", "beta"], ["alice"]);
});

const byAcme = async (parameters: AuthorizationParameters = acme) =>
  comeBack(fixtures, browser, await browser.pageOf(parameters), { organization: "acme" });
const silently = async (parameters: AuthorizationParameters) => {
  const { code, error } = sentToClient(await browser.authorize({ ...parameters, prompt: "none" }));
  return code === undefined ? error : (await fixtures.payloadOf(code)).orgId;
};

it("a sign-in by its connection gives a grant of the organisation, and says that it was elsewhere", async () => {
  const { code } = sentToClient(await byAcme());
  const { orgId, acr, amr, sub } = await fixtures.payloadOf(code!);
  expect({ orgId, acr, amr, sub }).toEqual({
    orgId: "acme",
    acr: "urn:edge-op:acr:upstream",
    amr: ["fed"],
    sub: "alice",
  });
  expect(await silently(acme)).toBe("acme");
});

describe("hostile cases 5, 7 and 8: with A's proof alone, nobody is signed in", () => {
  beforeEach(async () => {
    await byAcme();
  });

  it.each([
    ["another organisation", { ...first, organization: "beta" }],
    ["no organisation", first],
    ["no organisation, max_age", { ...first, max_age: "1000" }],
    ["no organisation, the connection's acr preferred", { ...first, acr_values: "urn:edge-op:acr:upstream" }],
  ])("silently for %s", async (_, parameters) => {
    expect(await silently(parameters)).toBe("login_required");
    expect(stepOf(await browser.pageOf(parameters))).toBe("sign-in");
  });

  it.each([
    "/account",
    "/account/security",
    "/account/password",
    "/account/apps",
    "/account/recovery-codes",
    "/account/sessions",
    "/account/applications",
    "/account/data",
    "/account/delete",
    "/account/address",
  ])("at %s", async (path) => {
    const { status, headers } = await browser.once(path);
    expect([status, stepOf(headers.get("location"))]).toEqual([303, "sign-in"]);
  });

  it("at /device, also with a code of a device", async () => {
    const grant_types = ["urn:ietf:params:oauth:grant-type:device_code"] as const;
    const device = await seedClient(authEnv, "device", { grant_types, scope: "openid" });
    const given = await postForm(fixtures.app, authEnv, "/device_authorization", { scope: "openid" }, device);
    const { user_code } = (await given.json()) as { user_code: string };
    expect(stepOf(await browser.get(`/device?user_code=${user_code}`).then(locationOf))).toBe("sign-in");
  });

  it("for an admin scope, which is of no organisation", async () => {
    await seedClient(authEnv, "boss", {
      ...codeClient,
      scope: "openid admin:users",
      require_pkce: false,
      skip_consent: true,
    });
    expect(stepOf(await browser.pageOf({ client_id: "boss", scope: "openid admin:users" }))).toBe("sign-in");
  });
});

describe("what is written about a person needs a proof that is not A's alone", () => {
  it("a consent is for A, and covers nothing else", async () => {
    const consent = locationOf(await byAcme({ ...third, organization: "acme" }));
    expect(stepOf(consent)).toBe("consent");
    const { code } = sentToClient(await browser.allow(consent));
    expect((await fixtures.payloadOf(code!)).orgId).toBe("acme");
    await browser.signIn(await browser.pageOf(first));
    expect(await silently({ ...third, organization: "acme" })).toBe("acme");
    expect(await silently({ ...third, organization: "beta" })).toBe("consent_required");
    expect(await silently(third)).toBe("consent_required");
  });

  it("a second factor that the organisation requires is set up by nobody but the person", async () => {
    await DB.prepare("UPDATE organizations SET document = json_set(document, '$.require_mfa', json('true'))").run();
    expect(stepOf(locationOf(await byAcme()))).toBe("sign-in");
    const elsewhere = await comeBack(fixtures, browser, await browser.pageOf(acme), {
      ...{ organization: "acme", method: "connectionMfa" },
    });
    const { amr } = await fixtures.payloadOf(sentToClient(elsewhere).code!);
    expect(amr).toEqual(["fed", "mfa"]);
  });

  it("no browser becomes known by it", async () => {
    await byAcme();
    expect([...browser.cookies.keys()].some((name) => name.endsWith("op-people"))).toBe(false);
    await browser.signIn(await browser.pageOf(first));
    expect([...browser.cookies.keys()].some((name) => name.endsWith("op-people"))).toBe(true);
  });
});

describe("both kinds of proof in one browser", () => {
  it("an own sign-in after A's keeps A's, and A's after it keeps the own one", async () => {
    await byAcme();
    await browser.signIn(await browser.pageOf(first));
    for (const organization of ["acme", "beta", undefined]) {
      expect(await silently({ ...first, organization })).toBe(organization);
    }
    await byAcme({ ...acme, prompt: "login" });
    expect(await silently({ ...first, organization: "beta" })).toBe("beta");
    expect((await browser.once("/account")).status).toBe(200);
    const { sub, sessions } = (await DB.prepare("SELECT sub, count(*) AS sessions FROM user_sessions").first())!;
    expect([sub, sessions]).toEqual(["alice", 1]);
  });

  it("each request is told of the proofs that count for it", async () => {
    await browser.signIn(await browser.pageOf(first));
    await byAcme({ ...acme, prompt: "login" });
    const amrOf = async (parameters: AuthorizationParameters) => {
      const { code } = sentToClient(await browser.authorize({ ...parameters, prompt: "none" }));
      return (await fixtures.payloadOf(code!)).amr;
    };
    expect(await amrOf({ ...first, organization: "beta" })).toEqual(["pwd"]);
    expect(await amrOf(first)).toEqual(["pwd"]);
  });
});

it("hostile case 9: a callback of A in a flow for B, for none, or for the account is no sign-in there", async () => {
  for (const page of [
    await browser.pageOf({ ...first, organization: "beta" }),
    await browser.pageOf(first),
    locationOf(await browser.get("/account")),
  ]) {
    expect(stepOf(locationOf(await comeBack(fixtures, browser, page, { organization: "acme" })))).toBe("sign-in");
  }
  expect(await countRows("user_sessions")).toBe(0);
});

describe("the rule", () => {
  const proof = (method: Proof["method"], atMs: number, organization?: string): Proof => ({
    ...{ method, sub: "alice", atMs, controlVersion: 1 },
    ...(organization === undefined ? {} : { organization }),
  });
  const session = (...proofs: Proof[]): Session => ({
    sub: "alice",
    sid: "s",
    signedInAtMs: 90,
    endsAtMs: 1000,
    proofs,
  });

  it("a method of connections without an organisation counts nowhere, and any method with one for it alone", () => {
    expect(usableProofs([proof("connection", 1)], "acme")).toEqual([]);
    expect(usableProofs([proof("connection", 1)], undefined)).toEqual([]);
    expect(usableProofs([proof("upstream", 1, "acme")], undefined)).toEqual([]);
    expect(usableProofs([proof("upstream", 1, "acme")], "acme")).toHaveLength(1);
  });

  it("a session without such proofs is seen as it is, also one with a code alone", () => {
    const plain = session(proof("totp", 5));
    expect(seenFor(plain, "acme")).toEqual({ session: plain, withheld: [], isHidden: false });
    expect(seenFor(plain, undefined).session).toBe(plain);
  });

  it("a code beside A's proof is no sign-in elsewhere, and the sign-in is no younger than the proofs that count", () => {
    expect(seenFor(session(proof("totp", 5), proof("connection", 6, "acme")), "beta").isHidden).toBe(true);
    const seen = seenFor(session(proof("password", 5), proof("connection", 80, "acme")), undefined);
    expect([seen.isHidden, seen.session.signedInAtMs, seen.withheld.length]).toEqual([false, 5, 1]);
    expect(seenFor(seen.session, "acme", seen.withheld).session.proofs).toHaveLength(2);
  });

  it("a session keeps the proofs of ten organisations, the newest", () => {
    const many = Array.from({ length: 12 }, (_, index) => proof("connection", index, `org${index}`));
    const joined = joinProofs([proof("password", 0), ...many.slice(0, 11)], many.slice(11));
    expect(joined.map(({ organization }) => organization)).toEqual([
      ...[undefined, "org2", "org3", "org4", "org5", "org6", "org7", "org8", "org9", "org10", "org11"],
    ]);
  });

  it("who rests on a connection alone", () => {
    const acmes = proof("connection", 1, "acme");
    expect(restOnConnection([acmes])).toBe(true);
    expect(restOnConnection([acmes, proof("totp", 1)])).toBe(true);
    expect(restOnConnection([acmes, proof("password", 1)])).toBe(false);
    expect(restOnConnection([proof("mailedCode", 1)])).toBe(false);
  });
});
