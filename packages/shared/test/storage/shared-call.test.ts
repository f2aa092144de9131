import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RequestContext } from "../../src/http/request-context.ts";
import { SharedCall } from "../../src/storage/shared-call.ts";

const callMs = 1_000;
/** When a call counts as lost. */
const lostMs = callMs + 500;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

interface Sent {
  readonly by: string;
  readonly requests: readonly number[];
  respond(results: readonly string[]): void;
  fail(error: Error): void;
}

function fixtures({ joins = false, maxBatch = 100 } = {}) {
  const sent: Sent[] = [];
  const send = (context: RequestContext<object>, requests: readonly number[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
    sent.push({ by: context.requestId, requests, respond: resolve, fail: reject });
    return promise;
  };
  const shared = joins
    ? new SharedCall<object, number, string>({
        name: "store",
        callMs,
        joinsCallInFlight: true,
        send: async (context, request) => (await send(context, [request]))[0]!,
      })
    : new SharedCall<object, number, string>({ name: "store", callMs, maxBatch, send });
  const background: Promise<unknown>[] = [];
  const call = (request: number, key = "object") => {
    const context = {
      requestId: `r${request}`,
      waitUntil: (promise: Promise<unknown>) => background.push(promise),
    } as Partial<RequestContext<object>> as RequestContext<object>;
    const result = shared.call(context, key, request);
    result.catch(() => {});
    return result;
  };
  return { call, sent, background };
}

/** Runs everything that does not need a response. */
const turn = () => scheduler.wait(0);

it("one call in flight: arrivals share the next one, led by the first of them, and every request is under waitUntil", async () => {
  const { call, sent, background } = fixtures();
  const first = call(1);
  const others = [call(2), call(3), call(4)];
  await turn();
  expect(sent).toMatchObject([{ by: "r1", requests: [1] }]);
  sent[0]!.respond(["a"]);
  expect(await first).toBe("a");
  await turn();
  expect(sent[1]).toMatchObject({ by: "r2", requests: [2, 3, 4] });
  sent[1]!.respond(["b", "c", "d"]);
  expect(await Promise.all(others)).toEqual(["b", "c", "d"]);
  expect(sent).toHaveLength(2);
  expect(background).toHaveLength(4);
  await Promise.all(background);
});

it("calls of different objects do not wait for one another", async () => {
  const { call, sent } = fixtures();
  void call(1, "one");
  void call(2, "two");
  await turn();
  expect(sent.map(({ requests }) => requests)).toEqual([[1], [2]]);
});

it("a single result is for the entire batch; too few are unavailability", async () => {
  const { call, sent } = fixtures();
  void call(1);
  const [two, three] = [call(2), call(3)];
  sent[0]!.respond(["a"]);
  await turn();
  sent[1]!.respond(["same"]);
  expect(await Promise.all([two, three])).toEqual(["same", "same"]);
  void call(4);
  const [five, , seven] = [call(5), call(6), call(7)];
  await turn();
  sent[2]!.respond(["d"]);
  await turn();
  sent[3]!.respond(["e", "f"]);
  expect(await five).toBe("e");
  await expect(seven).rejects.toThrow("store did not respond");
});

it("an error reaches all requests of the call, and the next call is still sent", async () => {
  const { call, sent } = fixtures();
  const first = call(1);
  const second = call(2);
  sent[0]!.fail(new Error("overloaded"));
  await expect(first).rejects.toThrow("overloaded");
  await turn();
  sent[1]!.respond(["b"]);
  expect(await second).toBe("b");
  const third = call(3);
  await turn();
  sent[2]!.respond(["c"]);
  expect(await third).toBe("c");
});

it("a batch is bounded; the rest goes with the next one", async () => {
  const { call, sent } = fixtures({ maxBatch: 2 });
  for (let request = 1; request <= 6; request += 1) void call(request);
  for (let call = 0; call < 4; call += 1) {
    await turn();
    sent[call]!.respond(sent[call]!.requests.map(String));
  }
  expect(sent.map(({ requests }) => requests)).toEqual([[1], [2, 3], [4, 5], [6]]);
});

describe("in a busy isolate", () => {
  /** More requests than a quiet isolate receives in such a short time, each for a different object. */
  function makeBusy({ call, sent }: ReturnType<typeof fixtures>): void {
    for (let request = 100; request < 132; request += 1) void call(request, `other ${request}`);
    sent.length = 0;
  }

  it("a leader waits a moment, and requests that arrive meanwhile join its call", async () => {
    const busy = fixtures();
    makeBusy(busy);
    const calls = [busy.call(1), busy.call(2)];
    await turn();
    expect(busy.sent.filter(({ requests }) => requests.includes(1))).toEqual([]);
    await scheduler.wait(20);
    expect(busy.sent).toContainEqual(expect.objectContaining({ requests: [1, 2] }));
    busy.sent.find(({ requests }) => requests.includes(1))!.respond(["a", "b"]);
    expect(await Promise.all(calls)).toEqual(["a", "b"]);
  });

  it("joining calls do not wait, and no call waits when the load has ended", async () => {
    const joining = fixtures({ joins: true });
    makeBusy(joining);
    void joining.call(1);
    await turn();
    expect(joining.sent).toContainEqual(expect.objectContaining({ requests: [1] }));
    const quiet = fixtures();
    makeBusy(quiet);
    vi.setSystemTime(Date.now() + 50);
    quiet.sent.length = 0;
    void quiet.call(1);
    expect(quiet.sent).toMatchObject([{ requests: [1] }]);
  });

  it("a leader that is lost while it gathers is replaced, and joins its successor's call if it returns", async () => {
    const busy = fixtures();
    makeBusy(busy);
    const { promise, resolve } = Promise.withResolvers<void>();
    const wait = vi.spyOn(scheduler, "wait").mockImplementationOnce(() => promise);
    const first = busy.call(1);
    wait.mockRestore();
    await vi.advanceTimersByTimeAsync(lostMs);
    const second = busy.call(2);
    await turn();
    expect(busy.sent.filter(({ requests }) => requests.includes(2))).toMatchObject([{ by: "r2", requests: [2, 1] }]);
    resolve();
    await turn();
    expect(busy.sent.filter(({ requests }) => requests.includes(1))).toHaveLength(1);
    busy.sent.find(({ by }) => by === "r2")!.respond(["b", "a"]);
    expect(await Promise.all([first, second])).toEqual(["a", "b"]);
  });
});

it("joining: a request that arrives during the call gets its result", async () => {
  const { call, sent } = fixtures({ joins: true });
  const calls = [call(1), call(2), call(3)];
  await turn();
  sent[0]!.respond(["a"]);
  expect(await Promise.all(calls)).toEqual(["a", "a", "a"]);
  expect(sent).toHaveLength(1);
});

it.each([true, false])(
  "a call that takes too long fails for all in it after callMs, and the next arrival is served at once (joining: %s)",
  async (joins) => {
    const { call, sent } = fixtures({ joins });
    const slow = [call(1), call(2), call(3)];
    await vi.advanceTimersByTimeAsync(callMs);
    await expect(slow[0]).rejects.toThrow("store did not respond");
    if (joins) {
      await expect(slow[2]).rejects.toThrow("store did not respond");
    } else {
      await turn();
      sent[1]!.respond(["b", "c"]);
      expect(await Promise.all(slow.slice(1))).toEqual(["b", "c"]);
    }
    const later = call(4);
    await turn();
    sent.at(-1)!.respond(["d"]);
    expect(await later).toBe("d");
    // A late result has no effect.
    const last = call(5);
    await turn();
    sent[0]!.respond(["late"]);
    await turn();
    sent.at(-1)!.respond(["e"]);
    expect(await last).toBe("e");
  },
);

it.each([
  { joins: false, taken: [2, 1, 3] },
  { joins: true, taken: [2] },
])(
  "a leader that vanished is replaced by the next arrival or by a waiter, which takes along all waiters (joining: $joins)",
  async ({ joins, taken }) => {
    const { call, sent } = fixtures({ joins });
    // Its request has disappeared, so its time limit never fires.
    const setTimer = vi.spyOn(globalThis, "setTimeout").mockImplementationOnce((() => 0) as never);
    void call(1);
    setTimer.mockRestore();
    const calls = [call(2), call(3)];
    await vi.advanceTimersByTimeAsync(lostMs);
    expect(sent).toHaveLength(2);
    expect(sent[1]).toMatchObject({ by: "r2", requests: taken });
    sent[1]!.respond(["b"]);
    expect(await Promise.all(calls)).toEqual(["b", "b"]);
    // The lost call returns too late to have an effect.
    sent[0]!.respond(["a"]);
    await turn();
    const later = call(4);
    await turn();
    sent[2]!.respond(["d"]);
    expect(await later).toBe("d");
  },
);

it("a waiter that too many calls overtake gives up in bounded time, and is ignored afterwards", async () => {
  const { call, sent } = fixtures({ maxBatch: 1 });
  const calls = Array.from({ length: 12 }, (_, request) => call(request));
  const startedAtMs = Date.now();
  const last = calls.at(-1)!.catch((error: unknown) => ({ error, afterMs: Date.now() - startedAtMs }));
  for (let call = 0; call < 5; call += 1) {
    await vi.advanceTimersByTimeAsync(900);
    sent[call]?.respond(["x"]);
    await turn();
  }
  expect(await last).toMatchObject({ error: { message: "store did not respond" } });
  expect((await last) as object).toHaveProperty(
    "afterMs",
    expect.toSatisfy((ms: number) => ms <= 2 * lostMs),
  );
  await vi.advanceTimersByTimeAsync(2 * lostMs);
  const before = sent.length;
  const later = call(99);
  await turn();
  expect(sent).toHaveLength(before + 1);
  sent.at(-1)!.respond(["y"]);
  expect(await later).toBe("y");
});
