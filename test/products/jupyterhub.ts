import assert from "node:assert/strict";
import { alice, type Product } from "./stage.ts";

export const jupyterhub: Product = {
  name: "JupyterHub",
  packages: { pip: ["jupyterhub==6.1.1", "oauthenticator==17.4.0"], npm: ["configurable-http-proxy@5.3.0"] },
  async show(run) {
    run.write(
      "test_config.py",
      `import os
exec(open("jupyterhub_config.py").read())
c.JupyterHub.bind_url = "https://app.example.com"
c.JupyterHub.spawner_class = "simple"
c.Authenticator.auth_refresh_age = 1`,
    );
    await run.start("jupyterhub", ["-f", "test_config.py"], { JUPYTERHUB_CRYPT_KEY: "00".repeat(32) });
    const shown = await run.browser.open(`${run.origin}/hub/oauth_login?next=/hub/home`);
    assert.equal(shown.status, 200, shown.text);
    assert.ok(shown.text.includes(alice.preferred_username));
    return { claims: {}, refresh: "", signOut: "" };
  },
};
