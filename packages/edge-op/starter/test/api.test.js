import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { createTestProvider } from "edge-op/testing";
import { createApi } from "../api/server.js";
import * as config from "../config.js";

const seed = JSON.parse(readFileSync(new URL("../provider/seed.json", import.meta.url), "utf8"));
let provider;
let api;

before(async () => {
  provider = await createTestProvider({ seed });
  api = createApi({ ...config, issuer: provider.issuer });
});
after(() => provider.close());

async function statusWith(token) {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return (await api.request(new URL("notes", config.api.url).href, { headers })).status;
}

await test("the API accepts a token for it, until it is revoked", async () => {
  assert.equal(await statusWith(undefined), 401);
  const parameters = { resource: config.api.url };
  const { access_token: token } = await provider.signIn("carol", {
    client: "notes-app",
    scope: "openid notes:read",
    parameters,
  });
  assert.equal(await statusWith(token), 200);
  await provider.revoke({ user: "carol" });
  assert.equal(await statusWith(token), 401);
});
