import { describe, expect, it } from "vitest";
import { type Defect, defects } from "../faults/broken-front-door.ts";
import { type FaultScope, Guarantee, type Observation, type Tally, violationsOf } from "../soak/guarantee.ts";
import type { Phase } from "../soak/phases.ts";
import { runSoak } from "../soak/run-soak.ts";

describe("the judge of the soak", () => {
  const times = { startedAtMs: 200, invokedAtMs: 200, respondedAtMs: 210 };
  const seen = { ...times, isolate: "op", status: 200 };
  const shard = "revocation:g1:wnam:3";

  function judgeOne(change: Partial<Observation>, fault?: FaultScope) {
    const guarantee = new Guarantee();
    const subject = guarantee.issued("introspection: token revoked", [shard]);
    guarantee.ending(subject, 100);
    guarantee.ended(subject, 150);
    if (fault !== undefined) guarantee.faultBegins(190, fault)(195);
    return guarantee.judge({ ...seen, subject, accepted: undefined, ...change });
  }

  it.each<[string, Partial<Observation>, string]>([
    ["accepted after the end returned", { accepted: true }, "ended-but-accepted"],
    ["accepted, invoked before the end returned", { accepted: true, startedAtMs: 149, invokedAtMs: 149 }, "either"],
    ["headers before the end, body after it, accepted", { accepted: true, startedAtMs: 90 }, "ended-but-accepted"],
    ["refused after the end returned", { accepted: false }, "refused"],
    ["refused before the end was sent", { accepted: false, invokedAtMs: 80, respondedAtMs: 99 }, "live-but-refused"],
    ["accepted before the end was sent", { accepted: true, invokedAtMs: 80, respondedAtMs: 99 }, "accepted"],
    ["503 without a fault", { status: 503 }, "unexcused"],
    ["a broken connection without a fault", { status: 0 }, "unexcused"],
  ])("%s", (_, change, verdict) => {
    expect(judgeOne(change)).toBe(verdict);
  });

  it("a fault excuses a 503 only for what depends on the failed object", () => {
    expect(judgeOne({ status: 503 }, shard)).toBe("excused");
    expect(judgeOne({ status: 503 }, "revocation:g2:wnam:3")).toBe("unexcused");
    expect(judgeOne({ status: 500 }, shard)).toBe("unexcused");
    expect(judgeOne({ accepted: true }, shard)).toBe("ended-but-accepted");
    expect(judgeOne({ status: 503, invokedAtMs: 9000, startedAtMs: 9000, respondedAtMs: 9010 }, shard)).toBe(
      "unexcused",
    );
  });

  it("a fault of an isolate excuses only that isolate's responses", () => {
    expect(judgeOne({ status: 503 }, { isolate: "op" })).toBe("excused");
    expect(judgeOne({ status: 503 }, { isolate: "process" })).toBe("unexcused");
    expect(judgeOne({ accepted: true }, { isolate: "op" })).toBe("ended-but-accepted");
  });

  it("a locked database of the local runtime is distinguished from excused failures of the product", () => {
    const late = { status: 503, cause: "revocation: Error: no response within 5000 ms" };
    expect(judgeOne({ status: 503, cause: "D1: Error: D1_ERROR: database is locked: SQLITE_BUSY" })).toBe(
      "runtime-failed",
    );
    expect(judgeOne(late)).toBe("unexcused");
    for (const [busyAtMs, verdict] of [
      [205, "runtime-failed"],
      [199, "unexcused"],
      [211, "unexcused"],
    ] as const) {
      const guarantee = new Guarantee();
      const subject = guarantee.issued("introspection: token revoked", [shard]);
      guarantee.runtimeIsBusy(busyAtMs);
      expect(guarantee.judge({ ...seen, subject, accepted: undefined, ...late })).toBe(verdict);
      const other = { accepted: undefined, status: 503, cause: "D1: Error: no such table" };
      expect(guarantee.judge({ ...seen, subject, ...other })).toBe("unexcused");
      expect(guarantee.judge({ ...seen, subject, accepted: true })).toBe("accepted");
    }
  });

  it("counts by the phase in which the request was complete, with slow bodies counted separately", () => {
    const guarantee = new Guarantee();
    guarantee.phaseBegins("first", 0);
    guarantee.phaseBegins("second", 150);
    const subject = guarantee.issued("userinfo: user suspended");
    guarantee.judge({ ...seen, subject, startedAtMs: 0, invokedAtMs: 149, accepted: true });
    guarantee.judge({ ...seen, subject, startedAtMs: 0, invokedAtMs: 500, respondedAtMs: 510, accepted: false });
    expect(guarantee.tally).toEqual({
      first: { "userinfo: user suspended": { accepted: 1 } },
      second: { "userinfo: user suspended, slow body": { "live-but-refused": 1 } },
    });
    expect(violationsOf(guarantee.tally)).toEqual(["second: userinfo: user suspended, slow body: 1 live-but-refused"]);
  });
});

describe("a provider with one defect", () => {
  const load = { issue: 20, revoke: 100 };
  const caughtBy: Readonly<Record<Defect, { readonly everyMs: Phase["everyMs"]; readonly violation: RegExp }>> = {
    "stale introspection": { everyMs: load, violation: /introspection: token revoked: \d+ ended-but-accepted/ },
    "decides at the headers": {
      everyMs: load,
      violation: /introspection: token revoked, slow body: \d+ ended-but-accepted/,
    },
    "stale userinfo": {
      everyMs: { "suspend user": 100 },
      violation: /userinfo: user suspended: \d+ ended-but-accepted/,
    },
    "accepts old secrets": {
      everyMs: { "rotate secret": 100, "disable client": 100 },
      violation: /client authentication: secret rotated: \d+ ended-but-accepted/,
    },
    "accepts used refresh tokens": {
      everyMs: { refresh: 20, steal: 500 },
      violation: /refresh: a token used before: \d+ ended-but-accepted/,
    },
    "signs out later": {
      everyMs: { "sign out": 100 },
      violation: /introspection: signed out: \d+ ended-but-accepted/,
    },
    "unavailable at times": { everyMs: load, violation: /introspection: token revoked: \d+ unexcused/ },
    "refuses at times": { everyMs: load, violation: /introspection: token revoked: \d+ live-but-refused/ },
  };

  function isCaught(name: Defect, tally: Tally): boolean {
    return violationsOf({ [name]: tally[name] ?? {} }).some((line) => caughtBy[name].violation.test(line));
  }

  it("is caught by the intended check", { timeout: 240_000 }, async () => {
    const { tally } = await runSoak({
      seconds: 14,
      clients: 1,
      extraIsolates: 0,
      mode: "strict",
      phases: defects.map((name) => ({ name, share: 1, slowBodies: true, everyMs: caughtBy[name].everyMs })),
      entryPoints: { op: "test/faults/broken-front-door.ts" },
      prepare: async ({ name }, origin) => {
        const { status } = await fetch(`${origin}/broken`, { method: "PUT", body: name });
        if (status !== 204) throw new Error(`the front door was not broken: ${status}`);
      },
      isEnough: ({ name }, soFar) => isCaught(name as Defect, soFar),
      log: () => {},
    });
    expect(defects.filter((name) => !isCaught(name, tally)).map((name) => [name, tally[name]])).toEqual([]);
  });
});
