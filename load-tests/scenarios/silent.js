import { judgeCode } from "../lib/judge.ts";
import { formEncode, newPkce } from "../lib/pkce.ts";
import { defineScenario } from "../lib/scenario.ts";

// GET /authorize?prompt=none with a session's cookie: a code, without a page.
export const { options, setup, measured, warmUp, handleSummary } = defineScenario("silent", (attempt) => {
  const { client_id, redirect_uri } = attempt.seeds.clients.app;
  const state = `s${attempt.iteration}`;
  const query = formEncode({
    response_type: "code",
    client_id,
    redirect_uri,
    scope: "openid profile",
    state,
    nonce: `n${attempt.iteration}`,
    prompt: "none",
    code_challenge: newPkce().challenge,
    code_challenge_method: "S256",
  });
  const seed = attempt.seed("session");
  return judgeCode(
    redirect_uri,
    state,
    attempt.provider.get(`/authorize?${query}`, { Cookie: seed.cookie }, "/authorize"),
  );
});
