/**
 * **`node scripts/count-days.ts`**: simulates days of small deployments with the product's objects, and counts what the platform charges for
 * (`load-tests/reports/days/days.json`). It takes a few minutes; run `node load-tests/model/print-tables.ts --calculated --write` afterwards.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { dirname, join } from "node:path";
import { type MeasuredDay, measuredDays } from "../load-tests/model/measured-days.ts";
import { repositoryRoot } from "../packages/edge-op/src/workers.ts";

const simulation = join(repositoryRoot, "test/simulation");
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "cloudflare:workers"
      ? next(join(simulation, "cloudflare-workers.ts"), context)
      : next(specifier, context),
});
const { installPlatform } = await import("../test/simulation/platform.ts");
const { UsualDay } = await import("../test/simulation/usual-day.ts");
installPlatform();

const days: MeasuredDay[] = [];
for (const options of measuredDays) days.push(await new UsualDay(options).run());
const path = join(repositoryRoot, "load-tests/reports/days/days.json");
mkdirSync(dirname(path), { recursive: true });
writeFileSync(path, `${JSON.stringify({ days }, null, 2)}\n`);
