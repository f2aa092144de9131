import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { alice, type Product, until } from "./product.ts";

const files = ["-c", "homeserver.yaml", "-c", "oidc.yaml", "-c", "test.yaml"];

/** The Matrix server; its clients get a session of their own by a login token. */
export const synapse: Product = {
  name: "Synapse",
  packages: { pip: ["matrix-synapse[oidc]==1.163.2"] },
  async show(run) {
    for (const file of ["homeserver.yaml", "homeserver.db"]) rmSync(join(run.folder, file), { force: true });
    const module = ["-m", "synapse.app.homeserver"];
    const first = ["--server-name", "app.test", "-c", "homeserver.yaml", "--generate-config", "--report-stats", "no"];
    await run.execute("python", ...module, ...first);
    run.write(
      "test.yaml",
      `public_baseurl: "https://app.example.com/"
listeners: [{ port: APP_PORT, type: http, bind_addresses: ["127.0.0.1"], resources: [{ names: [client] }] }]
sso: { client_whitelist: ["https://app.example.com/"] }`,
    );
    await run.start("python", [...module, ...files]);
    const target = encodeURIComponent(`${run.origin}/health`);
    const call = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(`${run.origin}/_matrix/client/v3/${path}`, init);
      return (await response.json()) as Record<string, unknown>;
    };
    const redirect = `${run.origin}/_matrix/client/v3/login/sso/redirect/oidc-edge_op?redirectUrl=${target}`;
    const arrived = await run.browser.open(redirect);
    const token = arrived.url.searchParams.get("loginToken");
    assert.ok(token, arrived.text);
    const login = await call("login", { method: "POST", body: JSON.stringify({ type: "m.login.token", token }) });
    const headers = { authorization: `Bearer ${String(login["access_token"])}` };
    const whoami = () => call("account/whoami", { headers });
    assert.equal((await whoami())["user_id"], "@alice:app.test");
    const claims = await call("profile/@alice:app.test");
    assert.equal(claims["displayname"], alice.name);

    await run.signOutAtProvider();
    await until("signed out by the back channel", async () => (await whoami())["errcode"] === "M_UNKNOWN_TOKEN");
    return { claims, refresh: "none", signOut: "back channel" };
  },
};
