import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { useFreshDeployment } from "../../../../test/fixtures/fresh-deployment.ts";
import { isolateMemory, limits } from "../../src/config/limits.ts";
import { ControlView } from "../../src/control/control-view.ts";
import { ReadSet } from "../../src/control/read-set.ts";
import { createRequestContext, type RequestContext } from "../../src/http/request-context.ts";
import { ReadThrough, type StorageBindings } from "../../src/storage/read-through.ts";
import { sharedEnv } from "../fixtures/request-fixtures.ts";

useFreshDeployment();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

type Bindings = StorageBindings & { readonly ISSUER: string };

/** One isolate with one cache, whose authority responds when the test lets it. */
function fixtures(version: number | "unknown" = 7) {
  const control = new ControlView();
  const reads: { readonly id: string; response(value: string | undefined): void }[] = [];
  const authority = async (id: string) => {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    reads.push({ id, response: resolve });
    const value = await promise;
    return { results: value === undefined ? [] : [{ value }] };
  };
  const cache = ReadThrough.ofWhole<string, Bindings>(control, {
    kind: "client",
    ttlSeconds: 300,
    maxBytes: isolateMemory.clients,
    query: {
      // Only `all` of a statement is called while the isolate knows a version.
      statement: (_, id) => ({ all: () => authority(id) }) as unknown as D1PreparedStatement,
      read: ([row]) => (row as { readonly value: string } | undefined)?.value,
    },
  });
  const learn = (cv: number) => control.observe(contextOf(sharedEnv).context, cv);
  const find = async (id: string, env: Bindings = sharedEnv) => {
    const { context, end } = contextOf(env);
    const value = await cache.find(context, id);
    await end();
    return value;
  };
  return { control, cache, reads, find, learn, ready: version === "unknown" ? Promise.resolve() : learn(version) };
}

function contextOf(env: Bindings): { context: RequestContext<Bindings>; end(): Promise<void> } {
  const execution = createExecutionContext();
  const context = createRequestContext(new Request("https://op.example.com/"), env, execution);
  return { context, end: () => waitOnExecutionContext(execution) };
}

/** KV whose reads or writes never return. */
function stalledCache(method: "get" | "put"): Bindings {
  const CACHE = new Proxy(sharedEnv.CACHE, {
    get(target, name) {
      if (name === method) return () => new Promise(() => {});
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { ...sharedEnv, CACHE };
}

const turn = () => scheduler.wait(5);

describe("one record, many requests of an isolate", () => {
  it("sixty requests for a cold record share one read of D1", async () => {
    const { reads, find, ready } = fixtures();
    await ready;
    const kvReads = vi.spyOn(sharedEnv.CACHE, "get");
    const asked = Array.from({ length: 60 }, () => find("shared-app"));
    await vi.waitFor(() => expect(reads).toHaveLength(1));
    reads[0]!.response("record");
    expect(await Promise.all(asked)).toEqual(asked.map(() => "record"));
    expect(reads).toHaveLength(1);
    expect(kvReads).toHaveBeenCalledTimes(1);
  });

  it("a record that was created during another request's look-up is found: absence is read again", async () => {
    const { reads, find, ready } = fixtures();
    await ready;
    const early = find("new-app");
    await vi.waitFor(() => expect(reads).toHaveLength(1));
    const later = [find("new-app"), find("new-app")];
    await turn();
    expect(reads).toHaveLength(1);
    reads[0]!.response(undefined);
    expect(await early).toBeUndefined();
    await vi.waitFor(() => expect(reads.length).toBeGreaterThanOrEqual(2));
    reads[1]!.response("record");
    await turn();
    expect(await Promise.all(later)).toEqual(["record", "record"]);
    expect(reads).toHaveLength(2);
  });

  it("a request that knows of a change does not join a look-up that started before it", async () => {
    const { reads, find, ready, control } = fixtures(1);
    await ready;
    const before = find("changed-app");
    await vi.waitFor(() => expect(reads).toHaveLength(1));
    const { meta } = await sharedEnv.DB.prepare(
      "INSERT INTO control_changes (kind, id, at_ms) VALUES ('client', 'changed-app', 0)",
    ).run();
    await control.observe(contextOf(sharedEnv).context, meta.last_row_id);
    expect(control.version).toBe(2);
    const after = find("changed-app");
    await vi.waitFor(() => expect(reads).toHaveLength(2));
    reads[1]!.response("new");
    expect(await after).toBe("new");
    reads[0]!.response("old");
    expect(await before).toBe("old");
    // Neither memory nor KV keeps a value that was read before the change.
    expect(await find("changed-app")).toBe("new");
  });
});

describe("time limits", () => {
  it("a stalled KV read is a miss after 300 ms", async () => {
    const { reads, find, ready } = fixtures();
    await ready;
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const asked = find("app-1", stalledCache("get"));
    await vi.advanceTimersByTimeAsync(limits.cacheReadMs - 1);
    expect(reads).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await turn();
    reads[0]!.response("record");
    expect(await asked).toBe("record");
    expect(limits.cacheReadMs).toBe(300);
    expect(warn).toHaveBeenCalledOnce();
  });

  it("a stalled KV write ends with its time limit, and no request waits for it", async () => {
    const { reads, cache, ready } = fixtures();
    await ready;
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { context, end } = contextOf(stalledCache("put"));
    const asked = cache.find(context, "app-2");
    await vi.waitFor(() => expect(reads).toHaveLength(1));
    reads[0]!.response("record");
    expect(await asked).toBe("record");
    const ended = end();
    await vi.advanceTimersByTimeAsync(limits.cacheWriteMs);
    await ended;
    expect(warn).toHaveBeenCalledOnce();
  });

  it("a stalled D1 is unavailability after 4 s, for all who share the look-up, and the next request reads again", async () => {
    const { reads, find, ready } = fixtures();
    await ready;
    const asked = Array.from({ length: 5 }, () => find("app-3").catch((error: unknown) => error));
    await vi.waitFor(() => expect(reads).toHaveLength(1));
    await vi.advanceTimersByTimeAsync(limits.databaseCallMs);
    for (const result of await Promise.all(asked))
      expect(result).toMatchObject({ name: "UnavailableError", store: "D1" });
    const next = find("app-3");
    await vi.waitFor(() => expect(reads).toHaveLength(2));
    reads[1]!.response("record");
    expect(await next).toBe("record");
  });
});

describe("an isolate that knows no control version", () => {
  const record = { cv: 7, value: "copy" };
  const key = "client:shared-app";

  function coldFixtures() {
    const cold = fixtures("unknown");
    const deciding = (env: Bindings = sharedEnv) => {
      const { context, end } = contextOf(env);
      const reads = new ReadSet(cold.control);
      context.progress.reads = reads;
      return { context, reads, end };
    };
    return { ...cold, deciding };
  }

  it("ADR 12: a decision uses a copy by its own version, and stands unless a change after it names the record", async () => {
    await sharedEnv.CACHE.put(key, JSON.stringify(record));
    for (const [changed, isCurrent] of [
      ["another", true],
      ["shared-app", false],
    ] as const) {
      const { cache, control, deciding, reads: databaseReads } = coldFixtures();
      const { context, reads } = deciding();
      expect(await cache.find(context, "shared-app")).toBe("copy");
      await control.observe(context, 8, [
        { version: 7, kind: "client", id: "shared-app" },
        { version: 8, kind: "client", id: changed },
      ]);
      expect([reads.areCurrent(), databaseReads.length]).toEqual([isCurrent, 0]);
      const kvReads = vi.spyOn(sharedEnv.CACHE, "get");
      const again = cache.find(deciding().context, "shared-app");
      if (!isCurrent) {
        await vi.waitFor(() => expect(databaseReads).toHaveLength(1));
        databaseReads[0]!.response("newer");
      }
      expect(await again).toBe(isCurrent ? "copy" : "newer");
      expect(kvReads).toHaveBeenCalledTimes(isCurrent ? 0 : 1);
      kvReads.mockRestore();
      await sharedEnv.CACHE.put(key, JSON.stringify(record));
    }
  });

  it("reading ahead reads KV alone, once, and fails nothing", async () => {
    const stalled = coldFixtures();
    const ahead = stalled.cache.readAhead(stalled.deciding(stalledCache("get")).context, "shared-app");
    await vi.advanceTimersByTimeAsync(limits.cacheReadMs);
    await ahead;
    const { cache, deciding, reads } = coldFixtures();
    const { context } = deciding();
    await cache.readAhead(context, "unknown");
    expect(reads).toEqual([]);
    await sharedEnv.CACHE.put(key, JSON.stringify(record));
    await cache.readAhead(context, "shared-app");
    const kvReads = vi.spyOn(sharedEnv.CACHE, "get");
    expect(await cache.find(context, "shared-app")).toBe("copy");
    expect(kvReads).not.toHaveBeenCalled();
  });
});
