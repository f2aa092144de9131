import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { alice, type Product } from "./product.ts";

/** The library of kubelogin, oauth2-proxy and others. It refreshes an access token ten seconds before its end. */
export const goOidc: Product = {
  name: "go-oidc",
  packages: { go: ["github.com/coreos/go-oidc/v3/oidc@v3.21.0", "golang.org/x/oauth2@v0.37.0"] },
  async show(run) {
    await run.execute("go", "build", "-o", "app", ".");
    await run.changeClient({ access_token_lifetime: 12 });
    await run.start("./app", []);
    const read = async (path: string) =>
      JSON.parse((await run.browser.open(run.origin + path)).text) as Record<string, unknown> | null;
    const claims = (await read("/login"))!;
    assert.deepEqual([claims["name"], claims["email"]], [alice.name, alice.email]);
    const person = await read("/userinfo");
    assert.deepEqual([person!["email"], person!["emailVerified"] ?? person!["email_verified"]], [alice.email, true]);

    await wait(3_000);
    assert.deepEqual(await read("/userinfo"), person);
    assert.equal(run.tokenResponses, 2);

    assert.equal(await read("/logout"), null);
    assert.equal(await run.isSignedInAtProvider(), false);
    return { claims, refresh: "rotated", signOut: "RP-initiated" };
  },
};
