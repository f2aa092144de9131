import { judgeUserinfo } from "../lib/judge.ts";
import { defineScenario } from "../lib/scenario.ts";

// GET /userinfo with a bearer token, or with a bound one and a proof.
export const { options, setup, measured, warmUp, handleSummary } = defineScenario(
  "userinfo",
  (attempt) => {
    const seed = attempt.seed("valid");
    return judgeUserinfo(seed, attempt.provider.getWithToken("/userinfo", seed.token));
  },
  { proofs: ({ seed }) => ({ method: "GET", path: "/userinfo", count: 1, token: seed("valid").token }) },
);
