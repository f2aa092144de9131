/**
 * **`node scripts/count-days.ts`**: simulates days of small deployments with the product's objects, and counts what the platform charges for
 * (`load-tests/reports/days/days.json`). It takes a few minutes; run `node load-tests/model/print-tables.ts --calculated --write` afterwards.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type MeasuredDay, measuredDays } from "../load-tests/model/measured-days.ts";
import { repositoryRoot } from "../packages/edge-op/src/workers.ts";
import "./install-simulated-platform.ts";

const { UsualDay } = await import("../test/simulation/usual-day.ts");

const days: MeasuredDay[] = [];
for (const options of measuredDays) days.push(await new UsualDay(options).run());
const path = join(repositoryRoot, "load-tests/reports/days/days.json");
mkdirSync(dirname(path), { recursive: true });
writeFileSync(path, `${JSON.stringify({ days }, null, 2)}\n`);
