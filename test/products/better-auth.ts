import assert from "node:assert/strict";
import { alice, type Product } from "./product.ts";

/** Without a database, it keeps accounts in memory and the session in a cookie. */
export const betterAuth: Product = {
  name: "better-auth",
  packages: { npm: ["better-auth@1.7.25"] },
  async show(run) {
    await run.start("node", ["app.js"]);
    const call = async (path: string, body?: object) => {
      const headers = { "content-type": "application/json", origin: run.origin };
      const init = body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) };
      const response = await run.browser.send(new URL(`/api/auth/${path}`, run.origin), init);
      return JSON.parse(await response.text()) as Record<string, unknown> | null;
    };
    const started = await call("sign-in/social", { provider: "edge-op", callbackURL: "/api/auth/ok" });
    await run.browser.open(String(started!["url"]));
    const claims = (await call("get-session"))!["user"] as Record<string, unknown>;
    const { name, email, email_verified: emailVerified } = alice;
    assert.deepEqual([claims["name"], claims["email"], claims["emailVerified"]], [name, email, emailVerified]);

    const refreshed = await call("refresh-token", { useAccountCookie: true });
    assert.ok(String(refreshed!["accessToken"]).startsWith("ey"), JSON.stringify(refreshed));
    assert.equal(run.tokenResponses, 2);

    const ended = await call("sign-out", {});
    assert.ok(ended!["url"], JSON.stringify(ended));
    await run.browser.open(String(ended!["url"]));
    assert.equal(await call("get-session"), null);
    assert.equal(await run.isSignedInAtProvider(), false);
    return { claims, refresh: "rotated", signOut: "RP-initiated" };
  },
};
