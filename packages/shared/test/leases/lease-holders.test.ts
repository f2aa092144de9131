import { LeaseHolders } from "@edge-op/shared/leases/lease-holders";
import { expect, it } from "vitest";

it("a holder that confirms a change keeps the longer lease that it had: a later change waits for that", () => {
  const holders = new LeaseHolders();
  holders.grant("isolate", 1, 2_000);
  holders.grant("isolate", 2, 1_500);
  holders.confirm("isolate", 2);
  expect(holders.await(3, 1_000)).toMatchObject({ lacking: new Set(["isolate"]), untilMs: 2_000 });
});
