import assert from "node:assert/strict";
import { alice, type Product } from "./product.ts";

export const passportOpenidconnect: Product = {
  name: "passport-openidconnect",
  packages: { isHere: true },
  async show(run) {
    await run.start("node", ["app.js"]);
    const read = async (path: string) =>
      JSON.parse((await run.browser.open(run.origin + path)).text) as Record<string, unknown> | null;
    const claims = (await read("/login"))!["profile"] as Record<string, unknown>;
    assert.deepEqual([claims["displayName"], claims["emails"]], [alice.name, [{ value: alice.email }]]);

    assert.ok((await read("/refresh"))!["accessToken"]);
    assert.equal(run.tokenResponses, 2);

    assert.equal(await read("/logout"), null);
    assert.equal(await run.isSignedInAtProvider(), false);
    return { claims, refresh: "rotated", signOut: "RP-initiated" };
  },
};
