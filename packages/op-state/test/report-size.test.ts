import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { reportSize } from "../src/database/report-size.ts";

const { DB } = env as unknown as { readonly DB: D1Database };

afterEach(() => {
  vi.restoreAllMocks();
});

it("issue 12: the size of a database is reported as D1 states it, and as nearly full from 80 % of the limit on", async () => {
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
