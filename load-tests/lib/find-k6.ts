import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** **How k6 is run on this machine**: as installed, or as this package's Go tool (pinned in go.mod, built on first use). */
export interface K6 {
  readonly command: string;
  readonly arguments: readonly string[];
  readonly version: string;
}

export const loadTestsRoot = fileURLToPath(new URL("..", import.meta.url));

export const howToGetK6 = `k6 was not found. Any of these gets it:
  install Go 1.26 or later: this package builds k6 by itself (load-tests/go.mod)
  apt install k6 · brew install k6 · winget install k6 · docker run grafana/k6
  https://grafana.com/docs/k6/latest/set-up/install-k6/`;

export function findK6(): K6 | undefined {
  for (const [command, ...rest] of [["k6"], ["go", "tool", "k6"]] as [string, ...string[]][]) {
    const found = spawnSync(command, [...rest, "version"], { cwd: loadTestsRoot, encoding: "utf8" });
    if (found.status === 0) return { command, arguments: rest, version: found.stdout.trim().split("\n")[0]! };
  }
  return undefined;
}
