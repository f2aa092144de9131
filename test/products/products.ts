import { authjs } from "./authjs.ts";
import { authlibFlask } from "./authlib-flask.ts";
import { betterAuth } from "./better-auth.ts";
import { djangoAllauth } from "./django-allauth.ts";
import { expressOpenidConnect } from "./express-openid-connect.ts";
import { honoOidcAuth } from "./hono-oidc-auth.ts";
import { jupyterhub } from "./jupyterhub.ts";
import { mozillaDjangoOidc } from "./mozilla-django-oidc.ts";
import { passportOpenidconnect } from "./passport-openidconnect.ts";
import type { Product } from "./stage.ts";
import { springSecurity } from "./spring-security.ts";
import { streamlit } from "./streamlit.ts";
import { synapse } from "./synapse.ts";

/** The products of docs/clients.md that the registries have. */
export const products: readonly Product[] = [
  ...[authjs, authlibFlask, betterAuth, djangoAllauth, expressOpenidConnect, honoOidcAuth],
  ...[jupyterhub, mozillaDjangoOidc, passportOpenidconnect, springSecurity, streamlit, synapse],
];
