import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { alice, type Product, until } from "./product.ts";

/** It reads the claims again with its access token every `auth_refresh_age` seconds, and refreshes the token when UserInfo refuses it. */
export const jupyterhub: Product = {
  name: "JupyterHub",
  packages: { pip: ["jupyterhub==6.1.1", "oauthenticator==17.4.0"], npm: ["configurable-http-proxy@5.3.0"] },
  async show(run) {
    rmSync(join(run.folder, "jupyterhub.sqlite"), { force: true });
    run.write(
      "test_config.py",
      `exec(open("jupyterhub_config.py").read())
c.JupyterHub.bind_url = "https://app.example.com"
c.JupyterHub.spawner_class = "simple"
c.Authenticator.auth_refresh_age = 1`,
    );
    await run.changeClient({ access_token_lifetime: 2 });
    await run.start("jupyterhub", ["-f", "test_config.py"], { JUPYTERHUB_CRYPT_KEY: "00".repeat(32) });
    // Its proxy responds before the hub does.
    await until("the hub responds", async () => (await fetch(`${run.origin}/hub/api`)).ok);
    const read = async () => {
      const { text } = await run.browser.open(`${run.origin}/hub/api/user?_xsrf=${run.browser.cookie("_xsrf") ?? ""}`);
      return JSON.parse(text) as Record<string, unknown>;
    };
    await run.browser.open(`${run.origin}/hub/oauth_login?next=/hub/home`);
    const { name, groups } = await read();
    assert.deepEqual([name, groups], [alice.preferred_username, ["staff"]]);

    await wait(4_000);
    await read();
    assert.equal(run.tokenResponses, 2);

    const goodbye = await run.browser.open(`${run.origin}/hub/logout`);
    assert.equal(goodbye.url.pathname, "/hub/login");
    assert.equal(await run.isSignedInAtProvider(), false);
    return { claims: { name, groups }, refresh: "rotated", signOut: "RP-initiated" };
  },
};
