import { join } from "node:path";
import { compactWorker, repositoryRoot, workers } from "../packages/edge-op/src/workers.ts";
import { buildPackage, packageFolder, publishedPackages } from "./build-package.ts";
import { runCommand, type Step } from "./steps.ts";

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
 * Builds each Worker like `wrangler deploy`, without deploying. Prints the compressed size, which Cloudflare
 * limits (3 MB on the free plan) and on which the start-up time depends.
 */
function workerSteps(): Step[] {
  return [...workers, compactWorker].map(({ name, config }) => ({
    name: `build of ${name}`,
    async run(print) {
      const { code, output } = await runCommand("wrangler", [
        "deploy",
        "--dry-run",
        "--config",
        config,
        "--outdir",
        join(repositoryRoot, "dist", name),
        "--metafile",
      ]);
      const size = /Total Upload: (.+)/.exec(output)?.[1];
      if (code !== 0 || size === undefined) {
        print(output);
        return { passed: 0, failed: 1 };
      }
      print(`  ${name.padEnd(14)} ${size}`);
      return { passed: 1, failed: 0 };
    },
  }));
}
