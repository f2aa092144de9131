import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import type { Product } from "./stage.ts";

/** Its session is a cookie with the refresh token, which it uses when `OIDC_AUTH_REFRESH_INTERVAL` is over. */
export const honoOidcAuth: Product = {
  name: "@hono/oidc-auth",
  packages: { npm: ["@hono/oidc-auth@1.8.1", "hono@4.13.19", "@hono/node-server@2.1.9"] },
  async show(run) {
    run.write(
      "serve.js",
      `import { serve } from "@hono/node-server"; import app from "./app.js"; serve({ fetch: app.fetch, port: APP_PORT });`,
    );
    await run.start("node", ["serve.js"], { ...run.variables(".env"), OIDC_AUTH_REFRESH_INTERVAL: "1" });
    const session = async () =>
      JSON.parse((await run.browser.open(`${run.origin}/me`)).text) as { sub: string; email: string; rtk: string };
    const first = await session();
    assert.equal(first.sub, "alice");

    await wait(2_000);
    const second = await session();
    assert.notEqual(second.rtk, first.rtk);
    assert.equal(run.tokenResponses, 2);

    const goodbye = await run.browser.open(`${run.origin}/logout`);
    assert.equal(await run.isSignedInAtProvider(), false);
    return { claims: first, refresh: "rotated", signOut: `refresh token revoked, ${goodbye.url.pathname}` };
  },
};
