import { judgeCode, queryValue, wrong } from "../lib/judge.ts";
import { formEncode, newPkce } from "../lib/pkce.ts";
import { readClaims } from "../lib/provider.ts";
import { defineScenario } from "../lib/scenario.ts";
import { findForm } from "../lib/sign-in-form.ts";

const mostRedirects = 6;

// Authorize → sign-in page → password → back to authorize → code → token, as a browser and its application do it.
export const { options, setup, measured, warmUp, handleSummary } = defineScenario("login", (attempt) => {
  const { provider, seeds, iteration } = attempt;
  const { client_id, redirect_uri } = seeds.clients.app;
  const seed = attempt.seed("login");
  const state = `s${iteration}`;
  const { verifier, challenge } = newPkce();
  const query = formEncode({
    response_type: "code",
    client_id,
    redirect_uri,
    scope: "openid profile",
    state,
    nonce: `n${iteration}`,
    code_challenge: challenge,
    code_challenge_method: "S256",
  });
  const isCallback = (answer) => (answer.location ?? "").startsWith(`${redirect_uri}?`);
  const follow = (page) => {
    let current = page;
    for (
      let hop = 0;
      hop < mostRedirects && current.answer.location !== undefined && !isCallback(current.answer);
      hop++
    ) {
      current = provider.page("GET", current.answer.location, null, "login page");
    }
    return current;
  };

  const signInPage = follow(provider.page("GET", `/authorize?${query}`, null, "/authorize"));
  if (signInPage.answer.status !== 200) return judgeCode(redirect_uri, state, signInPage.answer);
  const form = findForm(signInPage.html, "password");
  if (form === undefined) return wrong("false_negative", "the sign-in page has no password form");
  const submitted = provider.page(
    "POST",
    form.action,
    { ...form.fields, username: seed.username, password: seed.password },
    "sign-in",
  );
  const { answer } = follow(submitted);
  const verdict = judgeCode(redirect_uri, state, answer);
  if (verdict.kind !== "right") return verdict;

  const tokens = provider.post("/token", seeds.clients.app, {
    grant_type: "authorization_code",
    code: queryValue(answer.location, "code"),
    redirect_uri,
    code_verifier: verifier,
  });
  if (tokens.status >= 500 || tokens.status === 429 || tokens.status === 0) return { kind: "unavailable" };
  if (tokens.status !== 200) return wrong("false_negative", `the code was refused: ${tokens.status}`);
  const claims = readClaims(tokens.body.id_token);
  if (claims?.sub !== seed.sub) return wrong("claim_broken", "id_token is not of who signed in");
  return claims.nonce === `n${iteration}` ? verdict : wrong("claim_broken", "nonce is not what was sent");
});
