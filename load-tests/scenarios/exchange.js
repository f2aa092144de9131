import { judgeExchange } from "../lib/judge.ts";
import { readClaims } from "../lib/provider.ts";
import { defineScenario } from "../lib/scenario.ts";
import { variationAt } from "../lib/variations.ts";

const accessToken = "urn:ietf:params:oauth:token-type:access_token";

// POST /token, RFC 8693, by a gateway: alone, or for one of five services.
export const { options, setup, measured, warmUp, handleSummary } = defineScenario("exchange", exchange, {
  proofs: () => ({ method: "POST", path: "/token", count: 1 }),
});

function exchange(attempt) {
  const { className, iteration, provider, seeds } = attempt;
  const seed = attempt.seed(className);
  const { audience, scope, resource } = variationAt(iteration);
  const actors = seeds.classes.actor;
  const actor = className === "delegation" ? actors[iteration % actors.length] : undefined;
  const answer = provider.post("/token", seeds.clients.gateway, {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: seed.token,
    subject_token_type: accessToken,
    audience,
    resource,
    scope,
    ...(actor === undefined ? {} : { actor_token: actor.token, actor_token_type: accessToken }),
  });
  return judgeExchange(className, seed, { audience, resource, scope, actor: actor?.sub }, answer, readClaims);
}
