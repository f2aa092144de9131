import assert from "node:assert/strict";
import { type DjangoPage, startDjango } from "./django.ts";
import { alice, type Product } from "./product.ts";

/** Its session is Django's: it uses no refresh token, and its sign-out ends nothing at the provider. */
export const djangoAllauth: Product = {
  name: "django-allauth",
  packages: { pip: ["django-allauth[socialaccount]==65.21.1", "django==5.2.19"] },
  async show(run) {
    await startDjango(run, `path("accounts/", include("allauth.urls"))`);
    const home = async () => JSON.parse((await run.browser.open(run.origin)).text) as DjangoPage;
    const { csrf } = await home();
    const post = (path: string, token: string) =>
      run.browser.open(run.origin + path, {
        method: "POST",
        body: new URLSearchParams({ csrfmiddlewaretoken: token, next: "/" }),
      });
    await post("/accounts/oidc/edge-op/login/?next=/", csrf);
    const { user, csrf: next } = await home();
    assert.deepEqual([user?.["name"], user?.["email"]], [alice.name, alice.email]);

    await post("/accounts/logout/", next);
    assert.equal((await home()).user, null);
    assert.equal(await run.isSignedInAtProvider(), true);
    return { claims: user!, refresh: "none", signOut: "its own session" };
  },
};
