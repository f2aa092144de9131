import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { type DjangoPage, startDjango } from "./django.ts";
import { alice, type Product } from "./product.ts";

/** Its middleware asks the provider again, by `prompt=none`, when the sign-in is older than `OIDC_RENEW_ID_TOKEN_EXPIRY_SECONDS`. */
export const mozillaDjangoOidc: Product = {
  name: "mozilla-django-oidc",
  packages: { pip: ["mozilla-django-oidc==5.0.2", "django==5.2.19"] },
  async show(run) {
    run.write("settings.py", `${run.read("settings.py")}OIDC_RENEW_ID_TOKEN_EXPIRY_SECONDS = 2\n`);
    await startDjango(run, `path("oidc/", include("mozilla_django_oidc.urls"))`);
    const home = async () => JSON.parse((await run.browser.open(run.origin)).text) as DjangoPage;
    await run.browser.open(`${run.origin}/oidc/authenticate/`);
    const { user, csrf } = await home();
    assert.equal(user?.["email"], alice.email);

    await wait(3_000);
    assert.deepEqual((await home()).user, user);
    assert.equal(run.tokenResponses, 2);

    await run.browser.open(`${run.origin}/oidc/logout/`, {
      method: "POST",
      body: new URLSearchParams({ csrfmiddlewaretoken: csrf }),
    });
    assert.equal((await home()).user, null);
    assert.equal(await run.isSignedInAtProvider(), false);
    return { claims: user!, refresh: "silent sign-in", signOut: "RP-initiated" };
  },
};
