import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LocalProvider, startLocalProvider } from "../../packages/edge-op/src/local-provider.ts";
import { basicAuthorization } from "../../packages/edge-op/src/provider-api.ts";
import type { Person } from "../../packages/edge-op/src/testing/person.ts";
import type { MasterKeyBindings } from "../../packages/shared/src/secrets/master-key.ts";
import { Application, allScopes, type Tokens } from "./fixtures/application.ts";
import { ProviderFixtures, type TestClient } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";

/**
 * **Replacing the master key of a running deployment** (ADR 10), as docs/operating/rotate-keys.md says: people stay signed in,
 * tokens stay good, clients keep their secrets. A provider with a state of its own, whose secrets are edited.
 */
const stateDir = mkdtempSync(join(tmpdir(), "edge-op-"));
let provider: LocalProvider;
let fixtures: ProviderFixtures;
let application: Application;
let resourceServer: TestClient;
let browser: Person;
let first: Tokens;
/** Of the family that began with {@link first}. */
let held: Tokens;
let older: string;
const newer = randomBytes(32).toString("base64url");

beforeAll(async () => {
  provider = await startLocalProvider({ stateDir });
  fixtures = new ProviderFixtures(provider);
  older = secrets().OP_MASTER_KEY;
  application = await Application.register(fixtures, { subject_type: "pairwise" });
  resourceServer = await fixtures.resourceServer();
  browser = (await registerPerson(fixtures)).browser();
  first = await application.signIn(browser, { scope: allScopes, prompt: "consent" });
  held = first;
});

afterAll(async () => {
  await provider.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

function secrets(): MasterKeyBindings & { readonly adminClientSecret: string } {
  return JSON.parse(readFileSync(join(stateDir, "secrets.json"), "utf8")) as ReturnType<typeof secrets>;
}

async function restartWith(keys: MasterKeyBindings): Promise<void> {
  const { adminClientSecret } = secrets();
  writeFileSync(join(stateDir, "secrets.json"), JSON.stringify({ ...keys, adminClientSecret }));
  await provider.restart();
}

/** Clients continue with the tokens they had before; returns the tokens they have afterwards. */
async function lifeGoesOn(tokens: Tokens): Promise<Tokens> {
  expect(await fixtures.isActive(resourceServer, tokens.accessToken)).toBe(true);
  expect((await fixtures.userinfo(tokens.accessToken)).status).toBe(200);
  const refreshed = await application.readTokens(await application.refresh(tokens.refreshToken));
  expect(refreshed.claims.sub).toBe(first.claims.sub);
  expect(await fixtures.isActive(resourceServer, refreshed.accessToken)).toBe(true);
  // Signed in still, known as the same: the session, the form tokens, the code, the pairwise subject.
  const again = await application.signIn(browser, { scope: allScopes, prompt: "none" });
  expect(again.claims.sub).toBe(first.claims.sub);
  return refreshed;
}

test("at each step of a replacement what was made at the steps before is good", async () => {
  held = await lifeGoesOn(held);
  await restartWith({ OP_MASTER_KEY: older, OP_MASTER_KEY_PREVIOUS: newer, OP_PAIRWISE_KEY: older });
  held = await lifeGoesOn(held);
  await restartWith({ OP_MASTER_KEY: newer, OP_MASTER_KEY_PREVIOUS: older, OP_PAIRWISE_KEY: older });
  // The family was sealed before and is for as long as it lives; each successor's MAC is new.
  held = await lifeGoesOn(held);
  held = await lifeGoesOn(held);
});

test("what was made after the change needs the previous secret no more; what is older is refused, and no error", async () => {
  const fresh = await application.signIn(browser, { scope: allScopes, prompt: "consent" });
  const rotated = await fixtures.admin.require("POST", `/clients/${application.client.client_id}/secrets`, {
    overlap_seconds: 0,
  });
  const otherServer = await fixtures.resourceServer();
  await restartWith({ OP_MASTER_KEY: newer, OP_PAIRWISE_KEY: older });

  expect((await application.refresh(held.refreshToken)).status).toBe(401);
  expect((await fixtures.introspect(resourceServer, fresh.accessToken)).status).toBe(401);
  const credentials = { ...application.client, client_secret: String(rotated["client_secret"]) };
  const client = { ...credentials, authorization: basicAuthorization(credentials) };
  const refresh = (refreshToken: string | undefined) =>
    fixtures.token(client, { grant_type: "refresh_token", refresh_token: refreshToken ?? "" });
  expect((await refresh(fresh.refreshToken)).status).toBe(200);
  expect(await fixtures.isActive(otherServer, fresh.accessToken)).toBe(true);

  for (const { refreshToken } of [first, held]) {
    const { status, body } = await refresh(refreshToken);
    expect([status, body["error"]]).toEqual([400, "invalid_grant"]);
  }
  // Signed by a key that still verifies, about a person whom only the secret that is gone could name.
  expect(await fixtures.isActive(otherServer, first.accessToken)).toBe(false);
  expect((await fixtures.userinfo(first.accessToken)).status).toBe(401);
});
