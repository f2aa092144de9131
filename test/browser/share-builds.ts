/** **The folder of the builds that the browser files of a run share.** */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

export default function setup(project: TestProject): () => void {
  const builds = mkdtempSync(join(tmpdir(), "edge-op-browser-"));
  project.provide("builds", builds);
  return () => {
    rmSync(builds, { recursive: true, force: true });
  };
}
