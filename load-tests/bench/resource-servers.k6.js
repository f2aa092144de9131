import { check } from "k6";
import { SharedArray } from "k6/data";
import exec from "k6/execution";
import http from "k6/http";

/**
 * **Each way of validating a token at the same rate in one run** (resource-servers.ts starts it with `--k6 RATE`). Open model. One token in ten
 * is revoked; one wrong response fails the run. A 503 is not wrong, but more than 1 % of them fails it too.
 */
const targets = new SharedArray("targets", () => JSON.parse(open(__ENV["TARGETS"])));
const rate = Number(__ENV["RATE"]);
const seconds = Number(__ENV["SECONDS"]);

const names = targets.map(({ name }) => name);

export const options = {
  scenarios: Object.fromEntries(
    names.map((name, index) => [
      `target_${index}`,
      {
        executor: "constant-arrival-rate",
        exec: "validate",
        env: { TARGET: String(index) },
        tags: { validated_by: name },
        rate,
        timeUnit: "1s",
        duration: `${seconds}s`,
        preAllocatedVUs: Math.max(10, Math.ceil(rate * 0.2)),
        maxVUs: Math.max(20, rate),
      },
    ]),
  ),
  thresholds: {
    checks: ["rate==1"],
    http_req_failed: ["rate<0.01"],
    dropped_iterations: ["count==0"],
    // A threshold on a tag makes k6 show its percentiles.
    ...Object.fromEntries(names.map((name) => [`http_req_duration{validated_by:${name}}`, ["p(99)<1000"]])),
  },
  summaryTrendStats: ["med", "p(95)", "p(99)", "max"],
};

export function validate() {
  const { url, headers, tokens, revoked } = targets[Number(__ENV["TARGET"])];
  const turn = exec.scenario.iterationInTest;
  const isRevoked = revoked.length > 0 && turn % 10 === 0;
  const token = isRevoked ? revoked[turn % revoked.length] : tokens[turn % tokens.length];
  const expected = isRevoked ? 401 : 200;
  const response = http.get(url, {
    headers: { ...headers, Authorization: `Bearer ${token}` },
    responseCallback: http.expectedStatuses(200, 401),
  });
  check(response, {
    "a live token is 200, a revoked one 401": ({ status }) => status === expected || status === 0 || status >= 500,
  });
}
