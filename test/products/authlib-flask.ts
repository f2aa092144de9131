import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { alice, type Product } from "./product.ts";

/** It refreshes the access token when a request to a resource finds that it expires within a minute. */
export const authlibFlask: Product = {
  name: "Authlib with Flask",
  packages: { pip: ["Authlib==1.9.9", "flask==3.1.3", "requests==2.34.2"] },
  async show(run) {
    await run.changeClient({ access_token_lifetime: 64 });
    await run.start("flask", ["run", "--host", "localhost", "--port", run.port]);
    const read = async (path: string) =>
      JSON.parse((await run.browser.open(run.origin + path)).text) as Record<string, unknown> | null;
    const claims = (await read("/login"))!;
    assert.deepEqual([claims["name"], claims["email"]], [alice.name, alice.email]);

    await wait(5_000);
    assert.deepEqual(await read("/"), claims);
    assert.equal(run.tokenResponses, 2);

    assert.equal(await read("/logout"), null);
    assert.equal(await run.isSignedInAtProvider(), false);
    return { claims, refresh: "rotated", signOut: "RP-initiated" };
  },
};
