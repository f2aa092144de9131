/**
 * **The choice of an organisation** (ADR 72): a client whose policy requires one gets no code without it, and what was chosen stays. The pure
 * decision is in flow.test.ts, the grants that follow in test/conformance/organizations.test.ts.
 */

import { beforeEach, describe, expect, it } from "vitest";
import { seedClient, seedOrganizations } from "../../../test/fixtures/seed.ts";
import {
  authEnv,
  codeClient,
  formTokenOf,
  locationOf,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";

const { DB } = authEnv;
const { fixtures, browser } = useDeployment();
const asked = { client_id: "corp" };

beforeEach(async () => {
  await seedClient(authEnv, "corp", {
    ...codeClient,
    skip_consent: true,
    require_pkce: false,
    organization: "required",
  });
});

const join = (sub: string, ...orgIds: string[]) => seedOrganizations(authEnv, orgIds, [sub]);
const signIn = async () => browser.signIn(await browser.pageOf(asked));
const choose = (page: string, organization: string) => browser.submit(page, { organization });

/** The organisation of the code that the client gets, or the error. */
async function resultOf(response: Response): Promise<string | undefined> {
  const { code, error } = sentToClient(response);
  return code === undefined ? error : (await fixtures.payloadOf(code)).orgId;
}

describe("a client that requires an organisation", () => {
  it("the only one is chosen without a page, at a sign-in and silently", async () => {
    await join("alice", "acme");
    expect(await resultOf(await signIn())).toBe("acme");
    expect(await resultOf(await browser.authorize({ ...asked, prompt: "none" }))).toBe("acme");
  });

  it("of several, the person chooses; silently the client has to name one", async () => {
    await join("alice", "acme", "beta");
    const page = locationOf(await signIn());
    expect(stepOf(page)).toBe("organization");
    const html = await (await browser.get(page)).text();
    expect([html.includes("The acme"), html.includes("The beta")]).toEqual([true, true]);
    expect(await resultOf(await choose(page, "beta"))).toBe("beta");
    expect(await resultOf(await browser.authorize({ ...asked, prompt: "none" }))).toBe("interaction_required");
    expect(await resultOf(await browser.authorize({ ...asked, prompt: "none", organization: "acme" }))).toBe("acme");
  });

  it("what it requires of its members is asked, whether it was chosen on the page or without one", async () => {
    await join("alice", "acme");
    await DB.prepare("UPDATE organizations SET document = json_set(document, '$.require_mfa', json('true'))").run();
    expect(stepOf(locationOf(await signIn()))).toBe("enrol");
    const usual = fixtures.browser();
    expect(stepOf(locationOf(await usual.signIn(await usual.pageOf())))).toBe("consent");
    expect(await resultOf(await usual.authorize({ ...asked, prompt: "none" }))).toBe("login_required");
    expect(stepOf(await usual.pageOf(asked))).toBe("enrol");
    await join("alice", "beta");
    const page = await usual.pageOf(asked);
    expect(stepOf(page)).toBe("organization");
    expect(stepOf(locationOf(await usual.submit(page, { organization: "acme" })))).toBe("enrol");
    expect(await resultOf(await usual.submit(await usual.pageOf(asked), { organization: "beta" }))).toBe("beta");
  });

  it("without a membership in force there is no code, and no page", async () => {
    await join("alice", "acme", "beta");
    await DB.prepare("UPDATE memberships SET status = 'suspended' WHERE org_id = 'acme'").run();
    await DB.prepare("UPDATE organizations SET status = 'disabled' WHERE org_id = 'beta'").run();
    expect(await resultOf(await signIn())).toBe("access_denied");
  });

  it("hostile case 15: an admin scope belongs to no organisation, chosen or not", async () => {
    const admin = {
      ...codeClient,
      scope: "openid admin:users",
      require_pkce: false,
      organization: "required",
    } as const;
    await seedClient(authEnv, "boss", admin);
    const refused = await browser.authorize({ client_id: "boss", scope: "openid admin:users" });
    expect(sentToClient(refused).error).toBe("invalid_scope");
  });

  it("hostile case 10: a hint or a typed name changes the person, never the organisation of the request", async () => {
    await join("alice", "acme");
    await join("bob", "beta");
    const page = await browser.pageOf({ ...asked, organization: "acme", login_hint: "bob" });
    expect(await resultOf(await browser.signIn(page, "bob"))).toBe("access_denied");
  });
});

describe("hostile case 9: what was chosen in a flow stays", () => {
  it("a form of its page for another one, and the page itself, lead on for the first", async () => {
    await seedClient(authEnv, "corp2", { ...codeClient, require_pkce: false, organization: "required" });
    await join("alice", "acme", "beta");
    const page = locationOf(await browser.signIn(await browser.pageOf({ client_id: "corp2" })));
    const form_token = formTokenOf(await (await browser.get(page)).text());
    const consent = locationOf(await choose(page, "acme"));
    expect(stepOf(consent)).toBe("consent");
    const chosen = consent.replace("/flow/consent", "/flow/organization");
    const again = locationOf(await browser.post(chosen, { form_token, organization: "beta" }));
    expect(stepOf(again)).toBe("consent");
    expect(await (await browser.get(again)).text()).toContain("The acme");
    expect((await browser.once(chosen)).headers.get("location")).toContain("/flow/restart");
    expect(await resultOf(await browser.allow(again))).toBe("acme");
  });

  it("one that the person may not choose leads to the page again", async () => {
    await join("alice", "acme", "beta");
    await join("bob", "gamma");
    const page = locationOf(await signIn());
    for (const organization of ["gamma", "unknown", ""]) {
      expect((await browser.post(page, { ...(await fieldsOf(page)), organization })).status).toBe(200);
    }
  });

  it("a choice is void for another person who goes on with the flow", async () => {
    await seedClient(authEnv, "corp2", { ...codeClient, require_pkce: false, organization: "required" });
    await join("alice", "acme");
    await seedOrganizations(authEnv, ["beta", "gamma"], ["bob"]);
    await DB.prepare("INSERT INTO memberships VALUES ('bob', 'acme', 'active', 'administrator', 0, 0)").run();
    const consent = locationOf(await browser.signIn(await browser.pageOf({ client_id: "corp2" })));
    expect(await (await browser.get(consent)).text()).toContain("The acme");
    const other = locationOf(await browser.submit(consent, { decision: "other" }));
    expect(stepOf(locationOf(await browser.signIn(other, "bob")))).toBe("organization");
  });
});

async function fieldsOf(page: string): Promise<{ form_token: string }> {
  return { form_token: formTokenOf(await (await browser.get(page)).text()) };
}
