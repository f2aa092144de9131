import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { alice, type Product } from "./product.ts";

/** Its session is a cookie with the refresh token, which it uses when `OIDC_AUTH_REFRESH_INTERVAL` is over. */
export const honoOidcAuth: Product = {
  name: "@hono/oidc-auth",
  packages: { isHere: true },
  async show(run) {
    run.write(
      "serve.js",
      `import { serve } from "@hono/node-server"; import app from "./app.js"; serve({ fetch: app.fetch, port: APP_PORT });`,
    );
    await run.start("node", ["serve.js"], { ...run.variables(".env"), OIDC_AUTH_REFRESH_INTERVAL: "1" });
    const session = async () =>
      JSON.parse((await run.browser.open(`${run.origin}/me`)).text) as { sub: string; email: string; rtk: string };
    const first = await session();
    assert.equal(first.email, alice.email);

    await wait(2_000);
    const second = await session();
    assert.notEqual(second.rtk, first.rtk);
    assert.equal(run.tokenResponses, 2);

    assert.equal((await run.browser.open(`${run.origin}/logout`)).text, "Welcome");
    assert.equal(await run.isSignedInAtProvider(), false);
    return {
      claims: { sub: first.sub, email: first.email },
      refresh: "rotated",
      signOut: "refresh token revoked, RP-initiated",
    };
  },
};
