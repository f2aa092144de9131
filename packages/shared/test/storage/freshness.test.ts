import { expect, it } from "vitest";
import { freshSeconds } from "../../src/storage/fetched-documents.ts";

const now = Date.parse("Sun, 22 Nov 2026 12:00:00 GMT");
const bounds = { leastSeconds: 60, usualSeconds: 300, mostSeconds: 3600 };

it.each<[string, Record<string, string>, number]>([
  ["no header: the usual time", {}, 300],
  ["§5.2.2.1 max-age", { "cache-control": "max-age=600" }, 600],
  ["§5.2.2.10 s-maxage before max-age", { "cache-control": "max-age=600, s-maxage=120" }, 120],
  ["names in capitals, and quotes", { "cache-control": 'Public, Max-Age="900"' }, 900],
  ["§5.1 Age is subtracted", { "cache-control": "max-age=600", age: "500" }, 100],
  [
    "§5.3 Expires, by the server's own date",
    { expires: "Sun, 22 Nov 2026 13:10:00 GMT", date: "Sun, 22 Nov 2026 13:00:00 GMT" },
    600,
  ],
  ["§5.3 Expires without a date", { expires: "Sun, 22 Nov 2026 12:10:00 GMT" }, 600],
  ["§5.3 max-age before Expires", { expires: "Sun, 22 Nov 2026 12:10:00 GMT", "cache-control": "max-age=120" }, 120],
  ["§5.3 an invalid date is past: the least time", { expires: "0" }, 60],
  ["no-store: the least time", { "cache-control": "no-store" }, 60],
  ["no-cache: the least time", { "cache-control": "max-age=600, no-cache" }, 60],
  ["more than the bound", { "cache-control": "max-age=31536000" }, 3600],
  ["older than its lifetime: the least time", { "cache-control": "max-age=600", age: "9999" }, 60],
  ["no number: the usual time", { "cache-control": "max-age=soon" }, 300],
  ["negative: the usual time", { "cache-control": "max-age=-1" }, 300],
])("RFC 9111 %s", (_, headers, seconds) => {
  expect(freshSeconds(new Headers(headers), bounds, now)).toBe(seconds);
});
