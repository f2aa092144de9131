import assert from "node:assert/strict";
import { alice, type Product, until } from "./product.ts";

export const expressOpenidConnect: Product = {
  name: "express-openid-connect",
  packages: { npm: ["express-openid-connect@3.4.0", "express@5.3.0", "express-session@1.19.0"] },
  async show(run) {
    await run.start("node", ["app.js"]);
    const text = async (path: string) => (await run.browser.open(run.origin + path)).text;
    const claims = JSON.parse(await text("/me")) as Record<string, unknown>;
    assert.deepEqual([claims["name"], claims["email"]], [alice.name, alice.email]);

    const refreshed = JSON.parse(await text("/refresh")) as Record<string, unknown>;
    assert.ok(refreshed["access_token"]);
    assert.equal(run.tokenResponses, 2);

    assert.equal(await text("/logout"), "Welcome");
    assert.equal(await run.isSignedInAtProvider(), false);

    await text("/me");
    assert.equal(await text("/"), "Signed in");
    await run.signOutAtProvider();
    await until("signed out by the back channel", async () => (await text("/")) === "Welcome");
    return { claims, refresh: "rotated", signOut: "RP-initiated, back channel" };
  },
};
