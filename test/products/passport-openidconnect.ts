import assert from "node:assert/strict";
import { alice, type Product } from "./stage.ts";

export const passportOpenidconnect: Product = {
  name: "passport-openidconnect",
  packages: {
    npm: [
      ...["passport@0.7.0", "passport-openidconnect@0.1.2", "passport-oauth2-refresh@2.2.0"],
      ...["express@5.3.0", "express-session@1.19.0"],
    ],
  },
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
