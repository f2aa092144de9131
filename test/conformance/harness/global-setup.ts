import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startLocalProvider } from "../../../packages/local-provider/src/local-provider.ts";
import { type DevFile, seedDemo } from "../../../scripts/demo/seed-demo.ts";

/** **One provider, with the demo in it, for every conformance file that changes nothing others rely on.** */
declare module "vitest" {
  interface ProvidedContext {
    readonly provider: SharedProvider;
  }
}

export interface SharedProvider {
  readonly origin: string;
  readonly issuer: string;
  readonly dev: DevFile;
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stateDir = mkdtempSync(join(tmpdir(), "edge-op-conformance-"));
  const provider = await startLocalProvider({ stateDir });
  try {
    const dev = await seedDemo(provider, join(stateDir, "dev.json"), "http://localhost:8788");
    project.provide("provider", { origin: provider.origin, issuer: provider.issuer, dev });
  } catch (error) {
    await provider.stop();
    throw error;
  }
  return async () => {
    await provider.stop();
    rmSync(stateDir, { recursive: true, force: true });
  };
}
