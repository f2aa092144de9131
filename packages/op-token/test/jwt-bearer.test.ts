import { beforeEach, describe, expect, it } from "vitest";
import { generateClientKey, signAssertion } from "../../../test/fixtures/assertions.ts";
import type { SeededClient } from "../../../test/fixtures/seed.ts";
import {
  bearerGrant,
  claimsOf,
  createTokenFixtures,
  errorOf,
  seedApplication,
  type TokenFixtures,
} from "./fixtures/token-fixtures.ts";

let fixtures: TokenFixtures;
let app: SeededClient;
beforeEach(async () => {
  fixtures = await createTokenFixtures();
  app = await seedApplication(fixtures, "app");
});

const assert = async (claims: Record<string, unknown>, fields: Record<string, string> = {}) =>
  fixtures.post(
    { grant_type: bearerGrant, assertion: await signAssertion(fixtures.key, "app", claims), ...fields },
    app,
  );

describe("RFC 7523 §2.1 JWT bearer grant", () => {
  it("issues a token for the user, usable at UserInfo if openid is in scope and no target is requested", async () => {
    expect(claimsOf(await fixtures.userToken(app))).toMatchObject({
      sub: "alice",
      client_id: "app",
      aud: ["https://api.example.com", "https://op.example.com"],
    });
    expect(claimsOf(await fixtures.userToken(app, { scope: "read" }))["aud"]).toBe("https://api.example.com");
    for (const name of ["audience", "resource"]) {
      const token = await fixtures.userToken(app, { scope: "openid", [name]: "https://api.example.com" });
      expect(claimsOf(token)["aud"], name).toBe("https://api.example.com");
    }
  });

  it("RFC 9068 §2.2.3.1: username, roles and groups only by their scope values", async () => {
    const scopes = ["openid", "profile", "roles", "groups"];
    const metadata = { scope: scopes.join(" "), jwt_bearer: { subjects: ["alice"], scopes } };
    const wide = await seedApplication(fixtures, "wide", metadata);
    const whole = claimsOf(await fixtures.userToken(wide));
    expect(whole).toMatchObject({ username: "alice", roles: ["editor"], groups: ["staff"] });
    const narrow = claimsOf(await fixtures.userToken(wide, { scope: "openid" }));
    for (const name of ["username", "roles", "groups", "permissions"]) expect(narrow).not.toHaveProperty(name);
  });

  it("OIDC Core §8: a pairwise client's token has its pairwise subject and no username", async () => {
    const metadata = { subject_type: "pairwise" as const };
    const pairwise = claimsOf(await fixtures.userToken(await seedApplication(fixtures, "pairwise", metadata)));
    expect(pairwise["sub"]).toMatch(/^[\w-]{22}$/);
    expect(pairwise["scope"]).toContain("profile");
    expect(JSON.stringify(pairwise)).not.toContain('"alice"');
  });

  it("refuses users that its policy does not name, unknown ones and suspended ones", async () => {
    expect(await errorOf(await assert({ sub: "bob" }))).toBe("400 invalid_grant");
    expect(await errorOf(await assert({ sub: "mallory" }))).toBe("400 invalid_grant");
    const wide = await seedApplication(fixtures, "wide", { jwt_bearer: { subjects: ["*"], scopes: ["*"] } });
    const assertion = await signAssertion(fixtures.key, "wide", { sub: "nobody" });
    expect(await errorOf(await fixtures.post({ grant_type: bearerGrant, assertion }, wide))).toBe("400 invalid_grant");
  });

  it("without a policy a client may assert no one", async () => {
    const plain = await seedApplication(fixtures, "plain", { jwt_bearer: undefined });
    const assertion = await signAssertion(fixtures.key, "plain", { sub: "alice" });
    expect(await errorOf(await fixtures.post({ grant_type: bearerGrant, assertion }, plain))).toBe(
      "400 unauthorized_client",
    );
  });

  it.each([
    ["wrong audience", { aud: "https://other.example.com" }],
    ["expired", { exp: 1_000_000_000 }],
    ["no jti", { jti: undefined }],
    ["another issuer", { iss: "other" }],
    ["no subject", { sub: undefined }],
    ["may_act that is no object", { may_act: "service" }],
    ["may_act that names its party by an object", { may_act: { sub: { nested: "service" } } }],
    ["may_act with a member that means nothing here", { may_act: { sub: "service", email: "s@example.com" } }],
  ])("§3: refuses an assertion with %s", async (_, claims) => {
    expect(await errorOf(await assert({ sub: "alice", ...claims }))).toBe("400 invalid_grant");
  });

  it("§3 item 7: an assertion is spent once, and a refused request does not spend it", async () => {
    const assertion = await signAssertion(fixtures.key, "app", { sub: "alice" });
    const fields = { grant_type: bearerGrant, assertion };
    expect(await errorOf(await fixtures.post({ ...fields, scope: "admin" }, app))).toBe("400 invalid_scope");
    expect((await fixtures.post(fields, app)).status).toBe(200);
    expect(await errorOf(await fixtures.post(fields, app))).toBe("400 invalid_grant");
  });

  it("RFC 8725 §3.11: a request object, which browsers see, is not accepted as an assertion; typ values of assertions are", async () => {
    for (const [typ, status] of [
      ["oauth-authz-req+jwt", 400],
      ["at+jwt", 400],
      ["authorization-grant+jwt", 200],
      ["application/jwt", 200],
    ] as const) {
      const assertion = await signAssertion(fixtures.key, "app", { sub: "alice" }, { typ });
      expect((await fixtures.post({ grant_type: bearerGrant, assertion }, app)).status, typ).toBe(status);
    }
  });

  it("§3 item 9: refuses a key that is not the client's", async () => {
    const assertion = await signAssertion(await generateClientKey(), "app", { sub: "alice" });
    expect(await errorOf(await fixtures.post({ grant_type: bearerGrant, assertion }, app))).toBe("400 invalid_grant");
  });
});
