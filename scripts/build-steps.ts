import { join } from "node:path";
import { compactWorker, repositoryRoot, workers } from "../packages/edge-op/src/workers.ts";
import { buildPackage, packageFolder, publishedPackages } from "./build-package.ts";
import { writeWorker } from "./deploy/write-worker.ts";
import type { Step } from "./steps.ts";

/** **Builds into `dist/`**: each Worker, and the packages that are published. */
export function buildSteps(): Step[] {
  return [...workerSteps(), ...packageSteps()];
}

function packageSteps(): Step[] {
  return publishedPackages.map((each) => ({
    name: `package ${each.folder}`,
    async run(print) {
      await buildPackage(each, packageFolder(each));
      print(`  ${packageFolder(each)}`);
      return { passed: 1, failed: 0 };
    },
  }));
}

/**
 * Writes the modules of each Worker as `npm run deploy` uploads them. Prints their compressed size, which Cloudflare limits (3 MB on the free plan).
 */
function workerSteps(): Step[] {
  return [...workers, compactWorker].map((worker) => ({
    name: `build of ${worker.name}`,
    async run(print) {
      const { compressedBytes } = await writeWorker(worker, join(repositoryRoot, "dist", worker.name));
      print(`  ${worker.name.padEnd(14)} ${(compressedBytes / 1024).toFixed(0)} KiB gzipped`);
      return { passed: 1, failed: 0 };
    },
  }));
}
