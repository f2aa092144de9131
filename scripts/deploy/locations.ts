import type { Environment } from "./environment.ts";

/** D1 has fewer locations than objects, so the nearest one is used. */
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

/** **The location in which a database is created**; with a jurisdiction, the platform ignores the hint. */
export function locationForDatabases({ jurisdiction, region }: Pick<Environment, "jurisdiction" | "region">) {
  return jurisdiction === "none" ? { primary_location_hint: databaseHints[region] } : { jurisdiction };
}
