import { randomBytes } from "node:crypto";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { html } from "hono/html";
import * as oidc from "openid-client";
import { api, app as config, issuer } from "../config.js";

/** In memory: use a store of your own when there is more than one process. */
const sessions = new Map();
const redirectUri = `${config.url}/callback`;
const isSecure = config.url.startsWith("https:");

let discovered;
function provider() {
  // http is for localhost alone.
  const execute = issuer.startsWith("http://localhost") ? [oidc.allowInsecureRequests] : [];
  const authentication = oidc.ClientSecretBasic(config.clientSecret);
  discovered ??= oidc
    .discovery(new URL(issuer), config.clientId, undefined, authentication, { execute })
    .catch((error) => {
      discovered = undefined;
      throw error;
    });
  return discovered;
}

function sessionOf(c) {
  const known = sessions.get(getCookie(c, "session"));
  if (known !== undefined) return known;
  return replaceSession(c, {});
}

/** A new id at each sign-in, so that nobody can prepare the session of another. */
function replaceSession(c, session) {
  sessions.delete(getCookie(c, "session"));
  const id = randomBytes(32).toString("base64url");
  sessions.set(id, session);
  setCookie(c, "session", id, { httpOnly: true, sameSite: "Lax", secure: isSecure, path: "/" });
  return session;
}

const app = new Hono();

app.get("/", async (c) => {
  const { claims, accessToken } = sessionOf(c);
  if (claims === undefined)
    return c.html(html`<!doctype html><title>Notes</title><h1>Notes</h1><a href="/login">Sign in</a>`);
  const response = await fetch(new URL("notes", api.url), { headers: { authorization: `Bearer ${accessToken}` } });
  const notes = response.ok ? (await response.json()).notes : [`The API responds with ${response.status}.`];
  return c.html(html`<!doctype html><title>Notes</title><h1>Notes of ${claims.sub}</h1>
<ul>${notes.map((note) => html`<li>${note}</li>`)}</ul>
<form method="post" action="/logout"><button>Sign out</button></form>`);
});

app.get("/login", async (c) => {
  const verifier = oidc.randomPKCECodeVerifier();
  const pending = { verifier, state: oidc.randomState(), nonce: oidc.randomNonce() };
  sessionOf(c).pending = pending;
  const url = oidc.buildAuthorizationUrl(await provider(), {
    redirect_uri: redirectUri,
    scope: "openid profile email notes:read",
    resource: api.url,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  });
  return c.redirect(url.href, 303);
});

app.get("/callback", async (c) => {
  const { pending } = sessionOf(c);
  if (pending === undefined) return c.redirect("/", 303);
  const { search } = new URL(c.req.url);
  const tokens = await oidc.authorizationCodeGrant(await provider(), new URL(redirectUri + search), {
    pkceCodeVerifier: pending.verifier,
    expectedState: pending.state,
    expectedNonce: pending.nonce,
  });
  replaceSession(c, { claims: tokens.claims(), idToken: tokens.id_token, accessToken: tokens.access_token });
  return c.redirect("/", 303);
});

app.post("/logout", async (c) => {
  const { idToken } = sessionOf(c);
  replaceSession(c, {});
  if (idToken === undefined) return c.redirect("/", 303);
  const parameters = { post_logout_redirect_uri: `${config.url}/`, id_token_hint: idToken };
  return c.redirect(oidc.buildEndSessionUrl(await provider(), parameters).href, 303);
});

app.onError((error, c) => {
  console.error(error);
  return c.text("The sign-in did not work. Go back and try again.", 500);
});

serve({ fetch: app.fetch, port: Number(new URL(config.url).port || 80) });
console.log(`The application listens at ${config.url}`);
