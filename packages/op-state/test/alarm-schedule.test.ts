import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { AlarmSchedule } from "../src/wake/alarm-schedule.ts";

const { CHALLENGE_STORE } = env as unknown as { CHALLENGE_STORE: DurableObjectNamespace };
const later = Date.now() + 3_600_000;

function inObject<T>(work: (ctx: DurableObjectState) => Promise<T>): Promise<T> {
  return runInDurableObject(CHALLENGE_STORE.getByName("alarms"), (_, ctx) => work(ctx));
}

/** The alarm, which is set at the end of a turn. */
async function alarmOf(ctx: DurableObjectState): Promise<number | null> {
  await Promise.resolve();
  return ctx.storage.getAlarm();
}

async function open(ctx: DurableObjectState): Promise<AlarmSchedule> {
  const alarms = new AlarmSchedule(ctx);
  await ctx.blockConcurrencyWhile(async () => {});
  return alarms;
}

it("fires at the earliest requested time, in any order of requests", async () => {
  const at = await inObject(async (ctx) => {
    const alarms = await open(ctx);
    for (const offset of [3000, 1000, 2000]) alarms.wakeBy(later + offset);
    return alarmOf(ctx);
  });
  expect(at).toBe(later + 1000);
});

it("a later time requested by a new instance does not postpone its predecessor's alarm", async () => {
  await inObject(async (ctx) => (await open(ctx)).wakeBy(later));
  await evictDurableObject(CHALLENGE_STORE.getByName("alarms"));
  const at = await inObject(async (ctx) => {
    (await open(ctx)).wakeBy(later + 5000);
    return alarmOf(ctx);
  });
  expect(at).toBe(later);
});

it("a rolled-back transaction does not discard an alarm that others need", async () => {
  const at = await inObject(async (ctx) => {
    const alarms = await open(ctx);
    expect(() =>
      ctx.storage.transactionSync(() => {
        alarms.wakeBy(later + 1000);
        throw new Error("rolled back");
      }),
    ).toThrow("rolled back");
    alarms.wakeBy(later + 1000);
    return alarmOf(ctx);
  });
  expect(at).toBe(later + 1000);
});

it("a failing task stops no other task and is retried after five seconds", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: later });
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  const ran: string[] = [];
  const at = await inObject(async (ctx) => {
    const alarms = await open(ctx);
    await alarms.run([
      () => {
        throw new Error("D1 is down");
      },
      (nowMs) => {
        ran.push("sweep");
        return nowMs + 60_000;
      },
      () => undefined,
    ]);
    return alarmOf(ctx);
  });
  expect(ran).toEqual(["sweep"]);
  expect(at).toBe(later + 5_000);
  expect(log.mock.calls).toEqual([['{"event":"alarm-task-failed","cause":"Error: D1 is down"}']]);
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it("the alarm does not wait for a background task, which runs once at a time and sets the next alarm when it ends", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: later });
  await inObject(async (ctx) => {
    const alarms = await open(ctx);
    const work = Promise.withResolvers<number>();
    let runs = 0;
    let dueMs: number | undefined = later;
    const task = alarms.inBackground(
      () => dueMs,
      () => {
        runs += 1;
        return work.promise;
      },
    );
    await alarms.run([task]);
    await alarms.run([task]);
    expect(runs).toBe(1);
    // Another instance would start it again.
    expect(await alarmOf(ctx)).toBe(later + 30_000);
    dueMs = later + 3_000;
    work.resolve(dueMs);
    await expect.poll(() => alarmOf(ctx)).toBe(later + 3_000);
    await alarms.run([task]);
    expect([runs, await alarmOf(ctx)]).toEqual([1, later + 3_000]);
    dueMs = undefined;
    await ctx.storage.deleteAlarm();
    await alarms.run([task]);
    expect([runs, await alarmOf(ctx)]).toEqual([1, null]);
  });
  vi.useRealTimers();
});

it("with nothing left to do, no alarm is set", async () => {
  const at = await inObject(async (ctx) => {
    const alarms = await open(ctx);
    await alarms.run([() => undefined]);
    return alarmOf(ctx);
  });
  expect(at).toBe(null);
});

it("ADR 15: tasks delete by the time that the alarm was set for, when this machine's clock is ahead of it", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: later });
  const times: (readonly [number, number])[] = [];
  const note = (nowMs: number, passedMs: number) => {
    times.push([nowMs, passedMs]);
    return undefined;
  };
  await inObject(async (ctx) => {
    const alarms = await open(ctx);
    const info = { isRetry: false, retryCount: 0 };
    await alarms.run([note], { ...info, scheduledTime: later - 86_400_000 });
    await alarms.run([note], { ...info, scheduledTime: later + 5 });
    await alarms.run([note]);
  });
  expect(times).toEqual([
    [later, later - 86_400_000],
    [later, later],
    [later, later],
  ]);
  vi.useRealTimers();
});
