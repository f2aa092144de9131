import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { isolateBytes, isolateMemory } from "../../packages/shared/src/config/limits.ts";
import { type Fillable, fill, fillables } from "./fill-isolate.ts";

/**
 * The memory of isolates is bounded in bytes: the bounds add up to half of an isolate, the largest entries stay within them, and the estimates match
 * a real heap (V8 of Node, which has no compressed pointers; that of Workers has, and needs less).
 */
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Collects several times, because weak references and the remains of earlier tests are freed in steps. */
async function usedBytes(): Promise<number> {
  for (let time = 0; time < 8; time += 1) {
    await new Promise(setImmediate);
    collectGarbage();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

it("all caches together have half of an isolate", () => {
  const { clientKeyUris, clientDocumentUrls, clientLogoUrls, ...single } = isolateMemory;
  const triple = 3 * (clientKeyUris + clientDocumentUrls + clientLogoUrls);
  const sum = Object.values(single).reduce((total, bytes) => total + bytes, triple);
  expect(sum).toBe(isolateBytes / 2);
});

it("every cache filled with the largest entries: together within the bounds, by estimate and in the heap", async () => {
  const before = await usedBytes();
  const caches = Object.values(fillables).map((make) => make());
  for (const cache of caches) {
    const added = await fill(cache, 1);
    for (let index = added + 1; index < added + 20; index += 1) await cache.add(index, 1);
  }
  const estimated = caches.reduce((sum, cache) => sum + cache.heldBytes(), 0);
  expect(estimated).toBeLessThanOrEqual(isolateBytes / 2);
  expect((await usedBytes()) - before).toBeLessThanOrEqual(1.2 * (isolateBytes / 2));
  expect(caches.map((cache) => cache.heldBytes() > 0)).not.toContain(false);
});

/** Small caches are filled several times, so that other work of the process does not dominate the measurement. */
const measuredBytes = 12 * 1024 * 1024;

describe.each(Object.entries(fillables))("%s", (name, make) => {
  it.each([
    ["small", 0.1],
    ["the largest", 1],
  ])("with %s entries: bounded, and the estimate is close to the heap", async (_, size) => {
    await make().add(1, size);
    const before = await usedBytes();
    const caches: Fillable[] = [];
    const wantedBytes = make().measuredBytes ?? measuredBytes;
    for (let bytes = 0; bytes < wantedBytes; bytes += caches[0]!.bound) {
      const cache = make();
      await fill(cache, size);
      caches.push(cache);
    }
    const used = (await usedBytes()) - before;
    const estimates = caches.map((cache) => cache.heldBytes());
    const estimated = estimates.reduce((sum, bytes) => sum + bytes, 0);
    expect(Math.max(...estimates)).toBeLessThanOrEqual(caches[0]!.bound);
    expect(used, name).toBeLessThanOrEqual(1.25 * estimated);
    // No key of the sets has been imported yet, although the estimate includes that.
    if (name !== "client key sets") expect(used, name).toBeGreaterThanOrEqual(0.3 * estimated);
  });
});
