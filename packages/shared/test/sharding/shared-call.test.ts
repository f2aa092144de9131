import type { RequestContext } from "@edge-op/shared/http/request-context";
import { SharedCall, type SharedCallOptions } from "@edge-op/shared/sharding/shared-call";
import { afterEach, describe, expect, it, vi } from "vitest";

afterEach(() => {
  vi.restoreAllMocks();
});

interface Sent {
  readonly by: string;
  readonly requests: readonly number[];
  reply(replies: readonly string[]): void;
  fail(error: Error): void;
}

function world(options: Partial<SharedCallOptions<object, number, string>> = {}) {
  const sent: Sent[] = [];
  const call = new SharedCall<object, number, string>({
    name: "store",
    maxBatch: 100,
    send: (context, requests) => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
      sent.push({ by: context.requestId, requests, reply: resolve, fail: reject });
      return promise;
    },
    ...options,
  });
  const background: Promise<unknown>[] = [];
  const ask = (request: number, key = "object") => {
    const context = {
      requestId: `r${request}`,
      waitUntil: (promise: Promise<unknown>) => background.push(promise),
    } as Partial<RequestContext<object>> as RequestContext<object>;
    const asked = call.ask(context, key, request);
    asked.catch(() => {});
    return asked;
  };
  return { ask, sent, background };
}

/** Lets everything run that needs no reply. */
const turn = () => scheduler.wait(0);

it("one call in flight: arrivals share the next one, led by the first of them under its own waitUntil", async () => {
  const { ask, sent, background } = world();
  const first = ask(1);
  const others = [ask(2), ask(3), ask(4)];
  await turn();
  expect(sent).toMatchObject([{ by: "r1", requests: [1] }]);
  sent[0]!.reply(["a"]);
  expect(await first).toBe("a");
  await turn();
  expect(sent[1]).toMatchObject({ by: "r2", requests: [2, 3, 4] });
  sent[1]!.reply(["b", "c", "d"]);
  expect(await Promise.all(others)).toEqual(["b", "c", "d"]);
  expect(sent).toHaveLength(2);
  // Two calls, and three waiters whose hanging up must not matter.
  expect(background).toHaveLength(5);
  await Promise.all(background);
});

it("objects do not wait for one another", async () => {
  const { ask, sent } = world();
  void ask(1, "one");
  void ask(2, "two");
  await turn();
  expect(sent.map(({ requests }) => requests)).toEqual([[1], [2]]);
});

it("one reply is for all who asked; too few are unavailability", async () => {
  const { ask, sent } = world();
  void ask(1);
  const [two, three] = [ask(2), ask(3)];
  sent[0]!.reply(["a"]);
  await turn();
  sent[1]!.reply(["same"]);
  expect(await Promise.all([two, three])).toEqual(["same", "same"]);
  void ask(4);
  const [five, , seven] = [ask(5), ask(6), ask(7)];
  await turn();
  sent[2]!.reply(["d"]);
  await turn();
  sent[3]!.reply(["e", "f"]);
  expect(await five).toBe("e");
  await expect(seven).rejects.toThrow("store did not answer");
});

it("an error reaches all whom the call was for, and the next call is sent all the same", async () => {
  const { ask, sent } = world();
  const first = ask(1);
  const second = ask(2);
  sent[0]!.fail(new Error("overloaded"));
  await expect(first).rejects.toThrow("overloaded");
  await turn();
  sent[1]!.reply(["b"]);
  expect(await second).toBe("b");
  const third = ask(3);
  await turn();
  sent[2]!.reply(["c"]);
  expect(await third).toBe("c");
});

it("a batch is bounded; the rest goes with the one after", async () => {
  const { ask, sent } = world({ maxBatch: 2 });
  for (let request = 1; request <= 6; request += 1) void ask(request);
  for (let call = 0; call < 4; call += 1) {
    await turn();
    sent[call]!.reply(sent[call]!.requests.map(String));
  }
  expect(sent.map(({ requests }) => requests)).toEqual([[1], [2, 3], [4, 5], [6]]);
});

describe("in a busy isolate", () => {
  /** More requests than a quiet isolate sees in so short a time, each to an object of its own. */
  function makeBusy({ ask, sent }: ReturnType<typeof world>): void {
    for (let request = 100; request < 132; request += 1) void ask(request, `other ${request}`);
    sent.length = 0;
  }

  it("a leader waits a moment, and who comes meanwhile takes part in its call", async () => {
    const busy = world();
    makeBusy(busy);
    const asked = [busy.ask(1), busy.ask(2)];
    await turn();
    expect(busy.sent.filter(({ requests }) => requests.includes(1))).toEqual([]);
    await vi.waitFor(() => expect(busy.sent).toContainEqual(expect.objectContaining({ requests: [1, 2] })));
    busy.sent.find(({ requests }) => requests.includes(1))!.reply(["a", "b"]);
    expect(await Promise.all(asked)).toEqual(["a", "b"]);
  });

  it("nobody waits whose reply would be right for later arrivals too, and nobody waits when it is quiet again", async () => {
    const joining = world({ joinsCallInFlight: true });
    makeBusy(joining);
    void joining.ask(1);
    expect(joining.sent).toMatchObject([{ requests: [1] }]);
    const quiet = world();
    makeBusy(quiet);
    await scheduler.wait(50);
    quiet.sent.length = 0;
    void quiet.ask(1);
    expect(quiet.sent).toMatchObject([{ requests: [1] }]);
  });

  it("a leader that vanishes while it waits for company is replaced, and taken along if it comes back", async () => {
    const busy = world({ patienceMs: 20 });
    makeBusy(busy);
    const wait = vi.spyOn(scheduler, "wait").mockImplementationOnce(() => new Promise(() => {}));
    void busy.ask(1);
    wait.mockRestore();
    const second = busy.ask(2);
    await vi.waitFor(() => expect(busy.sent).toContainEqual(expect.objectContaining({ by: "r2", requests: [2, 1] })));
    busy.sent.find(({ by }) => by === "r2")!.reply(["b", "a"]);
    expect(await second).toBe("b");
  });
});

it("joining: who arrives during the call gets its reply", async () => {
  const { ask, sent } = world({ joinsCallInFlight: true });
  const asked = [ask(1), ask(2), ask(3)];
  await turn();
  sent[0]!.reply(["a"]);
  expect(await Promise.all(asked)).toEqual(["a", "a", "a"]);
  expect(sent).toHaveLength(1);
});

it.each([
  { joins: false, taken: [2, 1, 3] },
  { joins: true, taken: [2, 1, 3] },
])(
  "a leader that vanished is replaced by a waiter, who takes everyone along (joining: $joins)",
  async ({ joins, taken }) => {
    const { ask, sent } = world({ joinsCallInFlight: joins, patienceMs: 50 });
    void ask(1);
    const asked = [ask(2), ask(3)];
    await scheduler.wait(80);
    expect(sent).toHaveLength(2);
    expect(sent[1]).toMatchObject({ by: "r2", requests: taken });
    sent[1]!.reply(["b"]);
    expect(await Promise.all(asked)).toEqual(["b", "b"]);
    // The lost one comes back too late to disturb anyone.
    sent[0]!.reply(["a"]);
    await turn();
    const later = ask(4);
    await turn();
    sent[2]!.reply(["d"]);
    expect(await later).toBe("d");
  },
);

it("a waiter that calls go by gives up with unavailability, and is not handed the lead afterwards", async () => {
  const { ask, sent } = world({ maxBatch: 1, patienceMs: 40 });
  const asked = Array.from({ length: 12 }, (_, request) => ask(request));
  for (let call = 0; call < 5; call += 1) {
    await scheduler.wait(30);
    sent[call]?.reply(["x"]);
  }
  await expect(asked.at(-1)).rejects.toThrow("store did not answer");
  sent.at(-1)!.reply(["x"]);
  await turn();
  const before = sent.length;
  const later = ask(99);
  await turn();
  expect(sent).toHaveLength(before + 1);
  sent.at(-1)!.reply(["y"]);
  expect(await later).toBe("y");
});
