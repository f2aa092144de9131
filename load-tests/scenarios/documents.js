import { judgeLoginRequired } from "../lib/judge.ts";
import { formEncode, newPkce } from "../lib/pkce.ts";
import { defineScenario } from "../lib/scenario.ts";

// GET /authorize?prompt=none without a session, by a registered client, by one whose metadata document the isolates hold, and by ones
// whose document nobody has fetched: one client for each iteration.
export const { options, setup, measured, warmUp, handleSummary } = defineScenario("documents", (attempt) => {
  const { className, iteration } = attempt;
  const { redirect_uri } = attempt.seeds.clients.app;
  const { client_id } = attempt.seed(className);
  const state = `s${iteration}`;
  const query = formEncode({
    response_type: "code",
    client_id: className === "cold" ? `${client_id}/${Date.now()}-${iteration}.json` : client_id,
    redirect_uri,
    scope: "openid profile",
    state,
    prompt: "none",
    code_challenge: newPkce().challenge,
    code_challenge_method: "S256",
  });
  return judgeLoginRequired(redirect_uri, state, attempt.provider.get(`/authorize?${query}`, {}, "/authorize"));
});
