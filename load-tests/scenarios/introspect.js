import { judgeIntrospection } from "../lib/judge.ts";
import { defineScenario } from "../lib/scenario.ts";

// POST /introspect by a resource server: what is good is active with every claim intact, everything else is not.
export const { options, setup, measured, warmUp, handleSummary } = defineScenario("introspect", (attempt) => {
  const seed = attempt.seed(attempt.className);
  const answer = attempt.provider.post("/introspect", attempt.seeds.clients.resource, { token: seed.token });
  return judgeIntrospection(attempt.className, seed, answer);
});
