import { authjs } from "./authjs.ts";
import { authlibFlask } from "./authlib-flask.ts";
import { betterAuth } from "./better-auth.ts";
import { djangoAllauth } from "./django-allauth.ts";
import { expressOpenidConnect } from "./express-openid-connect.ts";
import { goOidc } from "./go-oidc.ts";
import { honoOidcAuth } from "./hono-oidc-auth.ts";
import { jupyterhub } from "./jupyterhub.ts";
import { modAuthOpenidc } from "./mod-auth-openidc.ts";
import { mozillaDjangoOidc } from "./mozilla-django-oidc.ts";
import { nextauth } from "./nextauth.ts";
import { oidcClientTs } from "./oidc-client-ts.ts";
import { openidClientInABrowser } from "./openid-client-in-a-browser.ts";
import { passportOpenidconnect } from "./passport-openidconnect.ts";
import type { Product } from "./product.ts";
import { springSecurity } from "./spring-security.ts";
import { streamlit } from "./streamlit.ts";
import { synapse } from "./synapse.ts";

/** The products of docs/clients.md that the registries have. */
export const products: readonly Product[] = [
  ...[authjs, authlibFlask, betterAuth, djangoAllauth, expressOpenidConnect, goOidc, honoOidcAuth],
  ...[jupyterhub, modAuthOpenidc, mozillaDjangoOidc, nextauth, oidcClientTs, openidClientInABrowser],
  ...[passportOpenidconnect, springSecurity, streamlit, synapse],
];
