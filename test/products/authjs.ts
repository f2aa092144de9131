import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { alice, type Product } from "./product.ts";

/** Its session is a cookie with the tokens; the callback `jwt` refreshes them. */
export const authjs: Product = {
  name: "Auth.js",
  packages: { npm: ["@auth/express@0.12.3", "@auth/core@0.41.3", "express@5.3.0"] },
  async show(run) {
    await run.changeClient({ access_token_lifetime: 1 });
    await run.start("node", ["app.js"]);
    const session = async () =>
      JSON.parse((await run.browser.open(run.origin)).text) as { user: Record<string, unknown> } | null;
    const { csrfToken } = JSON.parse((await run.browser.open(`${run.origin}/auth/csrf`)).text) as { csrfToken: string };
    await run.browser.open(`${run.origin}/auth/signin/edge-op`, {
      method: "POST",
      body: new URLSearchParams({ csrfToken, callbackUrl: run.origin }),
    });
    const claims = (await session())!.user;
    assert.deepEqual(claims, { name: alice.name, email: alice.email });

    await wait(2_000);
    assert.deepEqual((await session())!.user, claims);
    assert.equal(run.tokenResponses, 2);

    await run.browser.open(`${run.origin}/logout`);
    assert.equal(await session(), null);
    assert.equal(await run.isSignedInAtProvider(), false);
    return { claims, refresh: "rotated", signOut: "RP-initiated" };
  },
};
