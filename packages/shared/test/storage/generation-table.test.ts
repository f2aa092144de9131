import { expect, it } from "vitest";
import { GenerationTable } from "../../src/storage/generation-table.ts";
import { namedStores, type ShardedStore } from "../../src/storage/shard-address.ts";

const wnam = { shards: 4, hint: "wnam" } as const;
const weur = { shards: 7, hint: "weur" } as const;
const row = (
  store: ShardedStore,
  generation: number,
  regions: Record<string, typeof wnam | typeof weur>,
  retired = false,
) => ({
  ...{ store, generation, regions, retired, mintedFromMs: 0 },
  mintedUntilMs: undefined,
});

it("ADR 16: every possible place of an id is among its candidates, one in each region and live generation", () => {
  const first = namedStores.map((store) => row(store, 1, { wnam }));
  const generations = [
    row("refresh", 2, { wnam, weur }),
    row("refresh", 3, { weur }, true),
    row("refresh", 4, { weur, wnam }),
  ];
  const table = new GenerationTable([...first, ...generations]);
  for (const key of ["a", "grant-2", "Zm9vYmFy"]) {
    const candidates = table.candidates("refresh", key);
    expect(candidates.map(({ generation, region }) => `${generation} ${region}`)).toEqual([
      "1 wnam",
      "2 wnam",
      "2 weur",
      "4 weur",
      "4 wnam",
    ]);
    for (const region of ["wnam", "weur"]) expect(candidates).toContainEqual(table.place("refresh", region, key));
    const before = new GenerationTable(first);
    expect(candidates).toContainEqual(before.place("refresh", "wnam", key));
  }
});
