import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import type { ControlPlane } from "../src/control/control-plane.ts";
import { AlarmSchedule, reportSize } from "../src/wake/alarm-schedule.ts";

const { DB, CONTROL_PLANE } = env as unknown as {
  readonly DB: D1Database;
  readonly CONTROL_PLANE: DurableObjectNamespace<ControlPlane>;
};

afterEach(() => {
  vi.restoreAllMocks();
});

it("the size of a database is reported as stated by D1, and as nearly full from 80 % of the limit", async () => {
  const lines: unknown[] = [];
  const note = (line: string) => void lines.push(JSON.parse(line));
  vi.spyOn(console, "info").mockImplementation(note);
  vi.spyOn(console, "warn").mockImplementation(note);
  const result = await DB.prepare("SELECT 1").run();
  reportSize("DB", result);
  const sized = (bytes: number) => ({ ...result, meta: { ...result.meta, size_after: bytes } });
  reportSize("DB", sized(7_999_999_999));
  reportSize("AUDIT_DB", sized(8_000_000_000));
  const { size_after: unstated, ...meta } = result.meta;
  expect(unstated).toBeGreaterThan(0);
  reportSize("DB", { ...result, meta: meta as D1Meta & Record<string, unknown> });
  reportSize("DB", undefined);
  const limitBytes = 10_000_000_000;
  expect(lines).toEqual([
    { event: "database-size", database: "DB", bytes: unstated, limitBytes },
    { event: "database-size", database: "DB", bytes: 7_999_999_999, limitBytes },
    { event: "database-nearly-full", database: "AUDIT_DB", bytes: 8_000_000_000, limitBytes },
  ]);
});

it("an object that is half full is reported by its alarm, at most once an hour", async () => {
  const lines: unknown[] = [];
  vi.spyOn(console, "warn").mockImplementation((line: string) => void lines.push(JSON.parse(line)));
  await runInDurableObject(CONTROL_PLANE.getByName("sized"), async (_, state) => {
    let bytes = state.storage.sql.databaseSize;
    expect(bytes).toBeGreaterThan(0);
    // The platform determines the size, which tests cannot reach.
    const replace = <T extends object>(target: T, name: string, replacement: object): T =>
      new Proxy(target, {
        get(_, property) {
          const value: unknown = property === name ? replacement : Reflect.get(target, property, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    const sql = {
      get databaseSize() {
        return bytes;
      },
    };
    const sized = replace(state, "storage", replace(state.storage, "sql", sql));
    await new AlarmSchedule(sized).run([]);
    expect(lines).toEqual([]);
    bytes = 5_000_000_000;
    const alarms = new AlarmSchedule(sized);
    await alarms.run([]);
    await alarms.run([]);
  });
  expect(lines).toEqual([
    { event: "object-nearly-full", object: "sized", bytes: 5_000_000_000, limitBytes: 10_000_000_000 },
  ]);
});
