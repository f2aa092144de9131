import { prices } from "./platform.ts";

/** **The monthly cost on Cloudflare's paid plan**, in US dollars, by the prices that `platform.ts` cites. */
export type MonthlyUse = Readonly<Record<Meter, number>>;

type Meter = Exclude<keyof typeof prices, "planPerMonth">;

/** What is charged by its amount. */
export const meters = (Object.keys(prices) as (keyof typeof prices)[]).filter(
  (name): name is Meter => name !== "planPerMonth",
);

export function monthlyCost(use: Partial<MonthlyUse>): number {
  let total: number = prices.planPerMonth;
  for (const meter of meters) {
    const { included, perMillion } = prices[meter];
    total += (Math.max(0, (use[meter] ?? 0) - included) / 1e6) * perMillion;
  }
  return total;
}
