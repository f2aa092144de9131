import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadTestsRoot } from "./find-k6.ts";

/** **The stored report of a kind**, with the figures that tests and tables compare with the model. */
export function storedReport<T>(kind: "leases" | "stores" | "days"): T {
  return JSON.parse(readFileSync(join(loadTestsRoot, "reports", kind, `${kind}.json`), "utf8")) as T;
}
