import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { alice, type Product } from "./product.ts";

const modules = ["mpm_event", "authn_core", "authz_core", "authz_user", "dir", "auth_openidc"];

/** The module of Apache as a product of Debian, unpacked into the folder. */
export const modAuthOpenidc: Product = {
  name: "mod_auth_openidc",
  packages: {
    deb: [
      ...["libapache2-mod-auth-openidc=2.4.12.3-2+deb12u5", "apache2-bin", "libapr1", "libaprutil1"],
      ...["libcjose0", "libhiredis0.14", "liblua5.3-0"],
    ],
  },
  async show(run) {
    const load = (name: string) => `LoadModule ${name}_module root/usr/lib/apache2/modules/mod_${name}.so`;
    run.write("www/index.html", "protected");
    run.write("www/welcome/index.html", "Welcome");
    run.write(
      "httpd.conf",
      `ServerRoot ${run.folder}\nServerName localhost\nListen APP_PORT\nPidFile httpd.pid\nUser nobody\nGroup nogroup\nErrorLog error.log
${modules.map(load).join("\n")}\nDocumentRoot www\nDirectoryIndex index.html\nLogLevel auth_openidc:debug\nOIDCCABundlePath ${run.stage.certificate}\nInclude oidc.conf`,
    );
    await run.changeClient({ access_token_lifetime: 64, post_logout_redirect_uris: [`${run.origin}/welcome/`] });
    const libraries = `${run.folder}/root/usr/lib/x86_64-linux-gnu`;
    const command = ["-d", run.folder, "-f", "httpd.conf", "-DFOREGROUND"];
    await run.start("root/usr/sbin/apache2", command, { LD_LIBRARY_PATH: libraries });
    assert.equal((await run.browser.open(run.origin)).text, "protected");
    const info = async () =>
      JSON.parse((await run.browser.open(`${run.origin}/oidc?info=json`)).text) as Record<string, object>;
    const { userinfo } = await info();
    assert.ok(JSON.stringify(userinfo).includes(alice.email));

    await wait(5_000);
    await run.browser.open(run.origin);
    assert.equal(run.tokenResponses, 2);

    const goodbye = encodeURIComponent(`${run.origin}/welcome/`);
    assert.equal((await run.browser.open(`${run.origin}/oidc?logout=${goodbye}`)).text, "Welcome");
    assert.equal(await run.isSignedInAtProvider(), false);

    await run.browser.open(run.origin);
    await run.signOutAtProvider();
    const again = await run.browser.send(new URL(run.origin));
    assert.equal(again.status, 302);
    return { claims: userinfo as Record<string, unknown>, refresh: "rotated", signOut: "RP-initiated, front channel" };
  },
};
