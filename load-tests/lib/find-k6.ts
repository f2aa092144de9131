import { type SpawnSyncOptionsWithStringEncoding, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface K6 {
  readonly command: string;
  readonly arguments: readonly string[];
  readonly version: string;
}

export const loadTestsRoot = fileURLToPath(new URL("..", import.meta.url));

export const howToGetK6 = `k6 was not found. Install it in one of these ways:
  install Go 1.26 or later: this package then builds k6 (load-tests/go.mod)
  apt install k6 · brew install k6 · winget install k6 · docker run grafana/k6
  https://grafana.com/docs/k6/latest/set-up/install-k6/`;

/**
 * **Finds k6 on this machine**: the installed one, or this package's Go tool (pinned in go.mod, built on first use). `say` is called before a step
 * that may take minutes.
 */
export function findK6(say: (line: string) => void = () => {}): K6 | undefined {
  const installed = versionOf("k6", []);
  if (installed !== undefined) return installed;
  if (spawnSync("go", ["version"]).status !== 0) return undefined;
  say("k6 is not installed; building it with Go (load-tests/go.mod). The first build takes some minutes …");
  return versionOf("go", ["tool", "k6"]);
}

function versionOf(command: string, rest: readonly string[]): K6 | undefined {
  const options: SpawnSyncOptionsWithStringEncoding = {
    cwd: loadTestsRoot,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  };
  const found = spawnSync(command, [...rest, "version"], options);
  if (found.status !== 0) return undefined;
  return { command, arguments: rest, version: found.stdout.trim().split("\n")[0]! };
}
