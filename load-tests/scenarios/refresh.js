import exec from "k6/execution";
import { isLateRefusal, judgeRotation, judgeSameSuccessor, judgeTheft } from "../lib/judge.ts";
import { readClaims } from "../lib/provider.ts";
import { readGraceMs } from "../lib/run-settings.ts";
import { defineScenario } from "../lib/scenario.ts";

// POST /token, refresh: one family a virtual user, rotated without a pause; and what networks and thieves do to families.
let current;
// A retry came too late under overload: its family is over, and so is what this user can do.
let isOver = false;
const graceMs = readGraceMs();

const jtiOf = (answer) => readClaims(answer.body.access_token)?.jti;

export const { options, setup, measured, warmUp, handleSummary } = defineScenario(
  "refresh",
  ({ className, rank, provider, seeds }) => {
    const rotate = (token) =>
      provider.post("/token", seeds.clients.app, { grant_type: "refresh_token", refresh_token: token });

    if (className === "stolen") {
      const first = seeds.classes.stolen[rank].token;
      const second = rotate(first);
      if (second.status !== 200) return judgeRotation(first, second);
      const third = rotate(second.body.refresh_token);
      if (third.status !== 200) return judgeRotation(second.body.refresh_token, third);
      return judgeTheft(rotate(first), rotate(third.body.refresh_token));
    }

    if (isOver) return { kind: "unavailable" };
    const family = seeds.classes.family;
    current ??= family[(exec.vu.idInTest - 1) % family.length].token;
    const sent = current;
    const keep = (answer) => {
      if (answer.status === 200) current = answer.body.refresh_token;
      return answer;
    };
    const sentAt = Date.now();
    const judgeBoth = (first, second) => {
      isOver = isLateRefusal([first, second], Date.now() - sentAt, graceMs);
      return isOver ? { kind: "unavailable" } : judgeSameSuccessor(sent, first, second, jtiOf);
    };
    if (className === "duplicate") {
      const answers = provider.postTwice("/token", seeds.clients.app, {
        grant_type: "refresh_token",
        refresh_token: sent,
      });
      answers.forEach(keep);
      return judgeBoth(answers[0], answers[1]);
    }
    if (className === "lost_response") {
      // The first answer never reaches the application, which sends the same again.
      const lost = rotate(sent);
      return judgeBoth(lost, keep(rotate(sent)));
    }
    return judgeRotation(sent, keep(rotate(sent)));
  },
  // A theft is four requests.
  { warmUpClass: "rotate", proofs: () => ({ method: "POST", path: "/token", count: 4 }) },
);
