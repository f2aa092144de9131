import type { Environment } from "./environment.ts";

/** D1 has fewer locations than objects: the nearest. */
const databaseHints: Readonly<Record<Environment["region"], string>> = {
  wnam: "wnam",
  enam: "enam",
  sam: "enam",
  weur: "weur",
  eeur: "eeur",
  apac: "apac",
  oc: "oc",
  afr: "weur",
  me: "eeur",
};

/** **Where a database is created**: with a jurisdiction, the platform ignores the hint. */
export function locationForDatabases({ jurisdiction, region }: Pick<Environment, "jurisdiction" | "region">) {
  return jurisdiction === "none" ? { primary_location_hint: databaseHints[region] } : { jurisdiction };
}
