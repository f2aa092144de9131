import { prices } from "./platform.ts";

export type MonthlyUse = Readonly<Record<Meter, number>>;

type Meter = Exclude<keyof typeof prices, "planPerMonth">;

/** The items that are charged by amount. */
export const meters = (Object.keys(prices) as (keyof typeof prices)[]).filter(
  (name): name is Meter => name !== "planPerMonth",
);

/** **The monthly cost on Cloudflare's paid plan**, in US dollars, by the prices in `platform.ts`. */
export function monthlyCost(use: Partial<MonthlyUse>): number {
  let total: number = prices.planPerMonth;
  for (const meter of meters) {
    const { included, perMillion } = prices[meter];
    total += (Math.max(0, (use[meter] ?? 0) - included) / 1e6) * perMillion;
  }
  return total;
}
