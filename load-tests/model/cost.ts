import { prices } from "./platform.ts";

/** **The monthly cost on Cloudflare's paid plan**, in US dollars, by the prices that `platform.ts` cites. */
export interface MonthlyUse {
  readonly workerRequests: number;
  readonly workerCpuMs: number;
  readonly objectRequests: number;
  readonly objectGigabyteSeconds: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  readonly kvReads: number;
  readonly kvWrites: number;
}

const nothing: MonthlyUse = {
  workerRequests: 0,
  workerCpuMs: 0,
  objectRequests: 0,
  objectGigabyteSeconds: 0,
  rowsRead: 0,
  rowsWritten: 0,
  kvReads: 0,
  kvWrites: 0,
};

export function monthlyCost(use: Partial<MonthlyUse>): number {
  const full = { ...nothing, ...use };
  let total = prices.planPerMonth;
  for (const meter of Object.keys(nothing) as (keyof MonthlyUse)[]) {
    const { included, perMillion } = prices[meter];
    total += (Math.max(0, full[meter] - included) / 1e6) * perMillion;
  }
  return total;
}
