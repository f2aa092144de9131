import type { RefinedResponse, ResponseType } from "k6/http";
import { Counter, Rate, Trend } from "k6/metrics";
import { classesOf } from "./classes.ts";
import type { Answer, Verdict } from "./judge.ts";
import { isUnavailable, wrongHows } from "./judge.ts";
import type { Load, ScenarioName } from "./presets.ts";
import { readServerTiming } from "./server-timing.ts";

/**
 * **The custom metrics of a run**: per class the count, the errors and the latency; in total the latency, the share of responses, and the storage
 * calls that the provider reports. The warm-up is checked but not measured.
 */
export class Measures {
  readonly #requests = new Map<string, Counter>();
  readonly #wrong = new Map<string, Counter>();
  readonly #durations = new Map<string, Trend>();
  readonly #wrongHow = new Map<string, Counter>(wrongHows.map((how) => [how, new Counter(how)]));
  readonly #answerMs = new Trend("answer_ms", true);
  readonly #answered = new Rate("answered");
  readonly #calls = {
    object: new Trend("object_calls"),
    kv: new Trend("kv_calls"),
    d1: new Trend("d1_calls"),
  };

  constructor(scenario: ScenarioName) {
    for (const name of classesOf(scenario)) {
      this.#requests.set(name, new Counter(`class_${name}_requests`));
      this.#wrong.set(name, new Counter(`class_${name}_wrong`));
      this.#durations.set(name, new Trend(`class_${name}_ms`, true));
    }
  }

  /** Records one HTTP exchange. */
  exchange(className: string, response: RefinedResponse<ResponseType>, answer: Answer): void {
    this.#answerMs.add(response.timings.duration);
    this.#durations.get(className)!.add(response.timings.duration);
    this.#answered.add(!isUnavailable(answer));
    const calls = readServerTiming(response.headers["Server-Timing"]);
    if (calls === undefined) return;
    this.#calls.object.add(calls.object);
    this.#calls.kv.add(calls.kv);
    this.#calls.d1.add(calls.d1);
  }

  /** Records one iteration's verdict. */
  verdict(className: string, verdict: Verdict): void {
    this.#requests.get(className)!.add(1);
    if (verdict.kind !== "wrong") return;
    this.#wrong.get(className)!.add(1);
    this.#wrongHow.get(verdict.how)!.add(1);
  }
}

type Thresholds = Record<string, (string | { threshold: string; abortOnFail: boolean })[]>;

/** The share of successful responses that each scenario requires. */
const answeredShare: Readonly<Record<ScenarioName, string>> = {
  exchange: "rate>0.99",
  introspect: "rate>0.99",
  refresh: "rate>0.999",
  userinfo: "rate>=1",
  silent: "rate>0.99",
  login: "rate>0.99",
  "login-mfa": "rate>0.99",
  signup: "rate>0.99",
  recover: "rate>0.99",
  documents: "rate>0.99",
  "id-jag": "rate>0.99",
};

/** Correctness is absolute and aborts a run; latency is only promised for introspection, and not for the few cold requests of a smoke run. */
export function thresholdsOf(scenario: ScenarioName, load: Load): Thresholds {
  const never = [{ threshold: "count<1", abortOnFail: true }];
  const thresholds: Thresholds = { dropped_iterations: ["count<1"], answered: [answeredShare[scenario]] };
  for (const how of wrongHows) thresholds[how] = never;
  for (const name of classesOf(scenario)) {
    thresholds[`class_${name}_wrong`] = never;
    // A class that was never sent proves nothing.
    thresholds[`class_${name}_requests`] = ["count>0"];
  }
  if (scenario === "introspect" && load.preset !== "smoke") thresholds["answer_ms"] = ["p(95)<500", "p(99)<800"];
  return thresholds;
}
