import { createRequestContext } from "@edge-op/shared/http/request-context";
import { beforeEach, expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { grantNow } from "../../../test/fixtures/grant-now.ts";
import { seedUser } from "../../../test/fixtures/seed.ts";
import { LoginFixtures, seedApp, seedPeople, tokensOf } from "./fixtures/login-fixtures.ts";
import { claimsOf, tokenEnv } from "./fixtures/token-fixtures.ts";

/** Claims of the user in the ID tokens of `/token` (ADR 18); there are no others, because the only response type is `code`. */
useAnnouncedSetUp();

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code" as const;
const grant_types = ["authorization_code" as const, "refresh_token" as const, deviceGrant];
const scope = "openid profile email roles groups permissions offline_access";
const granted = scope.split(" ");
const aboutAlice = ["name", "email", "roles", "groups", "permissions"] as const;

let fixtures: LoginFixtures;
beforeEach(async () => {
  await seedPeople();
  fixtures = new LoginFixtures();
});

function newGrantOf({ isolate }: LoginFixtures) {
  const request = new Request("https://op.example.com/device");
  return grantNow(createRequestContext(request, tokenEnv, { waitUntil: () => undefined }), isolate);
}

function about(idToken: string): Record<string, unknown> {
  const claims = claimsOf(idToken);
  return Object.fromEntries(aboutAlice.flatMap((name) => (name in claims ? [[name, claims[name]]] : [])));
}

const all = { name: "Alice", email: "alice@example.com", roles: ["editor"], groups: ["staff"] };

it.each([
  { setting: undefined, claims: undefined, expected: all },
  { setting: "scopes", claims: undefined, expected: all },
  { setting: "requested", claims: undefined, expected: {} },
  { setting: "requested", claims: { id_token: { groups: null, permissions: null } }, expected: { groups: ["staff"] } },
] as const)(
  "OIDC Core §5.4, §5.5: id_token_claims $setting with claims $claims: code, refresh and device grant",
  async ({ setting, claims, expected }) => {
    const app = await seedApp({ grant_types, scope, ...(setting && { id_token_claims: setting }) });
    const first = await fixtures.signIn(app, { scope: granted, claims });
    const second = await tokensOf(await fixtures.refresh(first.refresh_token, app));
    const { deviceCode, userCode } = await fixtures.openDevice("app");
    const grant = await newGrantOf(fixtures);
    await fixtures.approveDevice(userCode, { grant, scope: granted, claims });
    const device = await tokensOf(await fixtures.pollDevice(deviceCode, app));
    for (const { id_token } of [first, second, device]) expect(about(id_token)).toEqual(expected);
  },
);

it("OIDC Core §5.4: only scope values that the token has, and that the client still registers, add claims", async () => {
  const app = await seedApp({ scope: "openid email groups offline_access" });
  const first = await fixtures.signIn(app, { scope: granted });
  expect(about(first.id_token)).toEqual({ email: all.email, groups: all.groups });
  const narrowed = await fixtures.refresh(first.refresh_token, app, { scope: "openid groups" });
  expect(about((await tokensOf(narrowed)).id_token)).toEqual({ groups: all.groups });
});

it("OIDC Core §8.1: a pairwise client gets the claims of its scopes, and no sub but its own", async () => {
  const app = await seedApp({ scope });
  const { id_token } = await fixtures.signIn(app, { scope: granted, pairwiseSub: "pairwise-of-alice" });
  expect(claimsOf(id_token)).toMatchObject({ sub: "pairwise-of-alice", ...all });
  expect(JSON.stringify(claimsOf(id_token))).not.toContain('"alice"');
});

it("claims of scopes are at most 4 KiB: the largest is left out, a requested one never", async () => {
  const app = await seedApp({ scope });
  const groups = Array.from({ length: 200 }, (_, index) => `a group with a long name ${index}`);
  await seedUser(tokenEnv, "carol", { claims: { name: "Carol" }, roles: ["editor"], groups });
  const login = { sub: "carol", scope: granted };
  const usual = claimsOf((await fixtures.signIn(app, login)).id_token);
  expect(usual).toMatchObject({ name: "Carol", roles: ["editor"] });
  expect(usual).not.toHaveProperty("groups");
  const asked = await fixtures.signIn(app, { ...login, claims: { id_token: { groups: null } } });
  expect(claimsOf(asked.id_token)["groups"]).toHaveLength(200);
});
