import { judgeUserinfo } from "../lib/judge.ts";
import { defineScenario } from "../lib/scenario.ts";

// GET /userinfo with a bearer token.
export const { options, setup, measured, warmUp, handleSummary } = defineScenario("userinfo", (attempt) => {
  const seed = attempt.seed("valid");
  return judgeUserinfo(seed, attempt.provider.get("/userinfo", { Authorization: `Bearer ${seed.token}` }));
});
