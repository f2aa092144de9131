import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { findK6, howToGetK6, loadTestsRoot } from "../lib/find-k6.ts";
import { loadOf } from "../lib/presets.ts";
import type { SeedFile } from "../lib/seed-file.ts";
import { type K6Summary, readSummary } from "../report/read-summary.ts";
import { type RunOutcome, verdictOf } from "../report/run-record.ts";
import { type Fault, standInSeeds, startStandIn } from "./stand-in-provider.ts";

/** Shows that each rule stops a run: real k6 against a stand-in that breaks one rule. */
const k6 = findK6();
const directory = mkdtempSync(join(tmpdir(), "edge-op-load-"));
afterAll(() => rmSync(directory, { recursive: true }));

interface SmokeRun {
  readonly exitCode: number;
  readonly output: string;
  readonly outcome: RunOutcome | undefined;
}

async function smoke(
  name: string,
  fault: Fault,
  change: (seeds: SeedFile) => SeedFile = (seeds) => seeds,
): Promise<SmokeRun> {
  const standIn = await startStandIn(fault);
  const seeds = join(directory, `${name}.json`);
  const result = join(directory, `${name}-summary.json`);
  writeFileSync(seeds, JSON.stringify(change(standInSeeds(standIn.origin))));
  try {
    const settings = ["PRESET=smoke", `SEEDS=${seeds}`, `RESULT=${result}`].flatMap((setting) => ["-e", setting]);
    const { exitCode, output } = await runK6(["run", "--quiet", ...settings, "scenarios/introspect.js"]);
    const load = loadOf("introspect", "smoke", "reference");
    const summary = readIfWritten(result);
    return { exitCode, output, outcome: summary && readSummary(summary, "introspect", load, exitCode) };
  } finally {
    await standIn.stop();
  }
}

async function runK6(given: readonly string[]): Promise<{ readonly exitCode: number; readonly output: string }> {
  const { command, arguments: rest } = k6!;
  const child = spawn(command, [...rest, ...given], { cwd: loadTestsRoot });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const exitCode = await new Promise<number>((resolve) => child.on("close", (code) => resolve(code ?? -1)));
  return { exitCode, output };
}

function readIfWritten(path: string): K6Summary | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as K6Summary;
  } catch {
    return undefined;
  }
}

const thresholdCrossed = 99;

test("k6 is found, or the message says how to get it", () => {
  expect(k6?.version ?? howToGetK6).toMatch(/k6/);
});

if (k6 !== undefined) {
  describe.concurrent("a smoke run", () => {
    test("passes against a provider that responds correctly", async () => {
      const { outcome } = await smoke("right", {});
      expect(outcome).toMatchObject({ exitCode: 0, dropped: 0, answered: 1 });
      expect(verdictOf(outcome!)).toBe("pass");
      expect(outcome!.storage).toEqual({
        object: { mean: 0, max: 0 },
        kv: { mean: 0, max: 0 },
        d1: { mean: 0, max: 0 },
      });
    });

    test.each([
      ["a revoked token answered active", "revoked", "false_positive"],
      ["an expired token answered active", "expired", "false_positive"],
      ["a token for another audience answered active", "wrong_audience", "false_positive"],
      ["a token of a stranger answered active", "wrong_client", "false_positive"],
    ])("aborts at %s", async (_, className, metric) => {
      const { exitCode, outcome } = await smoke(className, {
        answer: (name, right) => (name === className ? { body: { ...right, active: true } } : undefined),
      });
      expect(exitCode).toBe(thresholdCrossed);
      expect(outcome!.classes[className]!.wrong).toBeGreaterThan(0);
      expect(outcome!.thresholds).toContainEqual({ metric, condition: "count<1", met: false });
      expect(verdictOf(outcome!)).toBe("aborted: wrong answers");
      // The run was stopped at the next evaluation instead of running its six seconds.
      expect(outcome!.finished).toBeLessThan(110);
    });

    test("aborts if a valid token is reported as inactive", async () => {
      const { exitCode, outcome } = await smoke("inactive", {
        answer: (name) => (name === "valid" ? { body: { active: false } } : undefined),
      });
      expect(exitCode).toBe(thresholdCrossed);
      expect(outcome!.thresholds).toContainEqual({ metric: "false_negative", condition: "count<1", met: false });
    });

    test("aborts at a changed claim", async () => {
      const { exitCode, outcome } = await smoke("claim", {
        answer: (name, right) => (name === "exchanged" ? { body: { ...right, act: { sub: "someone" } } } : undefined),
      });
      expect(exitCode).toBe(thresholdCrossed);
      expect(outcome!.thresholds).toContainEqual({ metric: "claim_broken", condition: "count<1", met: false });
    });

    test("fails, without calling it wrong, if too many requests get a 503", async () => {
      const { exitCode, outcome } = await smoke("unavailable", {
        answer: (name) => (name === "valid" ? { status: 503, body: { error: "temporarily_unavailable" } } : undefined),
      });
      expect(exitCode).toBe(thresholdCrossed);
      expect(outcome!.answered).toBeLessThan(0.9);
      expect(verdictOf(outcome!)).toBe("fail");
    });

    test("fails if iterations are dropped because responses take too long", async () => {
      const { exitCode, outcome } = await smoke("slow", { delayMs: 3000 });
      expect(exitCode).toBe(thresholdCrossed);
      expect(outcome!.dropped).toBeGreaterThan(0);
      expect(verdictOf(outcome!)).toBe("fail");
    });

    test("by hand, following the README: SEEDS is a path from load-tests/, and an archive contains the seeds", async () => {
      const standIn = await startStandIn({});
      try {
        const seeds = join(directory, "by-hand.json");
        const archive = join(directory, "by-hand.tar");
        writeFileSync(seeds, JSON.stringify(standInSeeds(standIn.origin)));
        const settings = ["-e", "PRESET=smoke", "-e", `SEEDS=${relative(loadTestsRoot, seeds)}`];
        const packed = await runK6(["archive", "-O", archive, ...settings, "scenarios/introspect.js"]);
        expect(packed.exitCode, packed.output).toBe(0);
        expect((await runK6(["run", "--quiet", ...settings, "scenarios/introspect.js"])).exitCode).toBe(0);
        rmSync(seeds);
        expect((await runK6(["run", "--quiet", archive])).exitCode).toBe(0);
      } finally {
        await standIn.stop();
      }
    });

    test("is aborted in setup if a class lacks a seed", async () => {
      const { exitCode, output } = await smoke("short", {}, (seeds) => ({
        ...seeds,
        classes: { ...seeds.classes, revoked: seeds.classes.revoked!.slice(1) },
      }));
      expect(exitCode).not.toBe(0);
      expect(output).toContain("it holds 11 of 12 seeds of class revoked");
    });

    test("is aborted in setup if a class is missing", async () => {
      const { exitCode, output } = await smoke("missing", {}, (seeds) => {
        const { exchanged: _, ...classes } = seeds.classes;
        return { ...seeds, classes };
      });
      expect(exitCode).not.toBe(0);
      expect(output).toContain("it holds 0 of 5 seeds of class exchanged");
    });

    test("is aborted in setup if the tokens expire too soon", async () => {
      const { exitCode, output } = await smoke("stale", {}, (seeds) => ({ ...seeds, validUntil: 1 }));
      expect(exitCode).not.toBe(0);
      expect(output).toContain("expire before the run ends");
    });
  });
}
