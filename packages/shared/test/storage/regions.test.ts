import { expect, it } from "vitest";
import { nearestRegion } from "../../src/storage/shard-map.ts";

const shards = 8;
const everywhere = {
  wnam: { shards, hint: "wnam" },
  enam: { shards, hint: "enam" },
  sam: { shards, hint: "sam" },
  weur: { shards, hint: "weur" },
  eeur: { shards, hint: "eeur" },
  apac: { shards, hint: "apac" },
  oc: { shards, hint: "oc" },
  afr: { shards, hint: "afr" },
  me: { shards, hint: "me" },
} as const;
const two = { enam: everywhere.enam, weur: everywhere.weur };

it.each([
  ["San Francisco", "37.77", "-122.42", "wnam"],
  ["New York", "40.71", "-74.00", "enam"],
  ["São Paulo", "-23.55", "-46.63", "sam"],
  ["London", "51.51", "-0.13", "weur"],
  ["Warsaw", "52.23", "21.01", "eeur"],
  ["Singapore", "1.35", "103.82", "apac"],
  ["Auckland", "-36.85", "174.76", "oc"],
  ["Nairobi", "-1.29", "36.82", "afr"],
  ["Dubai", "25.20", "55.27", "me"],
  ["Fiji, beyond the date line", "-17.7", "-179.0", "oc"],
])("a request from %s is placed in the region nearest to it", (_, latitude, longitude, region) => {
  expect(nearestRegion({ latitude, longitude }, everywhere)).toBe(region);
});

it.each([
  ["AF", "weur"],
  ["AS", "weur"],
  ["EU", "weur"],
  ["NA", "enam"],
  ["SA", "enam"],
] as const)("without coordinates, the continent decides: %s", (continent, region) => {
  expect(nearestRegion({ continent }, two)).toBe(region);
});

it.each([
  ["no origin", undefined],
  ["an empty one", {}],
  ["the Tor network, which has no place", { continent: "T1" as never }],
  ["coordinates off the map", { latitude: "123", longitude: "500" }],
  ["coordinates that are no numbers", { latitude: "north", longitude: "west" }],
  ["one coordinate", { latitude: "51.5" }],
])("%s takes the generation's first region", (_, origin) => {
  expect(nearestRegion(origin, { weur: everywhere.weur, enam: everywhere.enam })).toBe("weur");
});

it("a region with a custom name is as near as its hint", () => {
  const regions = { main: everywhere.enam, backup: everywhere.oc };
  expect(nearestRegion({ latitude: "-33.9", longitude: "151.2" }, regions)).toBe("backup");
});
