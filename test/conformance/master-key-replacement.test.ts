/**
 * **Replacing the master key of a running deployment** (ADR 6), following docs/operating/rotate-keys.md: people stay signed in, tokens stay valid,
 * clients keep their secrets. The provider has its own state, whose secrets are edited.
 */

import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Person } from "../../packages/edge-op/testing/person.ts";
import type { MasterKeyBindings } from "../../packages/shared/src/secrets/master-key.ts";
import { Application, allScopes, type Tokens } from "./fixtures/application.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { ProviderFixtures, type TestClient } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";

const stateDir = mkdtempSync(join(tmpdir(), "edge-op-"));
let provider: LocalProvider;
let fixtures: ProviderFixtures;
let application: Application;
let resourceServer: TestClient;
let browser: Person;
let first: Tokens;
/** The tokens of the family that started with {@link first}. */
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
  // As the command of a deployment does, which compares the keys of all objects. KeyManager then wraps its keys anew.
  await fixtures.admin.require("GET", "/deployment");
}

/** Clients continue with their existing tokens; returns the tokens that they have afterwards. */
async function lifeGoesOn(tokens: Tokens): Promise<Tokens> {
  expect(await fixtures.isActive(resourceServer, tokens.accessToken)).toBe(true);
  expect((await fixtures.userinfo(tokens.accessToken)).status).toBe(200);
  const refreshed = await application.readTokens(await application.refresh(tokens.refreshToken));
  expect(refreshed.claims.sub).toBe(first.claims.sub);
  expect(await fixtures.isActive(resourceServer, refreshed.accessToken)).toBe(true);
  // Still signed in with the same identity: the session, the form tokens, the code, the pairwise subject.
  const again = await application.signIn(browser, { scope: allScopes, prompt: "none" });
  expect(again.claims.sub).toBe(first.claims.sub);
  return refreshed;
}

test("at each step of a replacement, values created at earlier steps stay valid", async () => {
  held = await lifeGoesOn(held);
  await restartWith({ OP_MASTER_KEY: older, OP_MASTER_KEY_PREVIOUS: newer, OP_PAIRWISE_KEY: older });
  held = await lifeGoesOn(held);
  await restartWith({ OP_MASTER_KEY: newer, OP_MASTER_KEY_PREVIOUS: older, OP_PAIRWISE_KEY: older });
  // The family was sealed earlier and keeps its seal for its lifetime; each successor's MAC is new.
  held = await lifeGoesOn(held);
  held = await lifeGoesOn(held);
});

test("client secrets of before are sealed again, and need the previous key no more; other values of before are refused, without an error", async () => {
  const fresh = await application.signIn(browser, { scope: allScopes, prompt: "consent" });
  const { remaining } = await fixtures.admin.require("POST", "/deployment/sealing");
  expect(remaining).toMatchObject({ client_secrets: 0 });
  await restartWith({ OP_MASTER_KEY: newer, OP_PAIRWISE_KEY: older });

  expect((await application.refresh(fresh.refreshToken)).status).toBe(200);
  expect(await fixtures.isActive(resourceServer, fresh.accessToken)).toBe(true);

  for (const { refreshToken } of [first, held]) {
    const { status, body } = await application.refresh(refreshToken);
    expect([status, body["error"]]).toEqual([400, "invalid_grant"]);
  }
  // Signed by a key that still verifies, about a person whom only the removed secret could identify.
  expect(await fixtures.isActive(resourceServer, first.accessToken)).toBe(false);
  expect((await fixtures.userinfo(first.accessToken)).status).toBe(401);
});
