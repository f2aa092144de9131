import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findK6, howToGetK6, loadTestsRoot } from "../lib/find-k6.ts";
import { scenarioNames } from "../lib/presets.ts";
import { type StartedProvider, startProvider } from "../lib/start-provider.ts";

/** Runs every scenario's smoke preset against the deployed Workers, with the command that an engineer types. */
const k6 = findK6();

test("k6 is found, or the message says how to get it", () => {
  expect(k6?.version ?? howToGetK6).toMatch(/k6/);
});

if (k6 !== undefined) {
  const out = mkdtempSync(join(tmpdir(), "edge-op-smoke-"));
  let provider: StartedProvider;
  beforeAll(async () => {
    provider = await startProvider({ vars: { SERVER_TIMING: "true", SIGN_UP: "open" }, mailbox: true });
  }, 120_000);
  afterAll(async () => {
    await provider.stop();
    rmSync(out, { recursive: true });
  });

  test.each(scenarioNames)("%s: smoke passes with every check on", { timeout: 180_000 }, async (scenario) => {
    const { exitCode, output } = await load([
      scenario,
      "smoke",
      ...["--origin", provider.origin, "--out", out, "--seed-directory", join(out, "seeds")],
    ]);
    expect(output).toContain(`${scenario}-smoke-reference: pass`);
    expect(exitCode).toBe(0);
  });

  // Covers proofs of one request and of several, with a token's hash and without.
  test.each(["exchange", "refresh", "userinfo"])("%s --dpop: smoke passes", { timeout: 180_000 }, async (scenario) => {
    const { exitCode, output } = await load([
      ...[scenario, "smoke", "--dpop"],
      ...["--origin", provider.origin, "--out", out, "--seed-directory", join(out, "seeds")],
    ]);
    expect(output).toContain(`${scenario}-smoke-reference: pass`);
    expect(exitCode).toBe(0);
  });

  function load(given: readonly string[]): Promise<{ readonly exitCode: number; readonly output: string }> {
    return new Promise((resolve) => {
      const child = spawn(process.execPath, [join(loadTestsRoot, "load.ts"), ...given], {
        env: {
          ...process.env,
          OP_ADMIN_CLIENT_ID: provider.admin.client_id,
          OP_ADMIN_CLIENT_SECRET: provider.admin.client_secret,
        },
      });
      let output = "";
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (chunk: Buffer) => {
          output += chunk.toString();
        });
      }
      child.on("close", (code) => resolve({ exitCode: code ?? -1, output }));
    });
  }
}
