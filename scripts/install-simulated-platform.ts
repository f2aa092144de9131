/** **Replaces the platform by the simulated one** for a script that runs the product's objects: import it before anything that imports them. */

import { registerHooks } from "node:module";
import { join } from "node:path";
import { repositoryRoot } from "../packages/edge-op/src/workers.ts";

const simulation = join(repositoryRoot, "test/simulation");
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "cloudflare:workers"
      ? next(join(simulation, "cloudflare-workers.ts"), context)
      : next(specifier, context),
});
const { installPlatform } = await import("../test/simulation/platform.ts");
installPlatform();
