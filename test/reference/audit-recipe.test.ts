import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { StoredEvent } from "../../packages/shared/src/audit/audit-event.ts";
import { encodeSegment, segmentKey } from "../../packages/shared/src/audit/segment.ts";

/** The recipe of docs/operating/audit.md for the archive, followed with segments as the provider writes them. */
const recipe = /<!-- zcat -->\n```sh\n(.*?)\n```/s.exec(readFileSync("docs/operating/audit.md", "utf8"))?.[1];

function event(position: number, type: string, sub: string, day: number): StoredEvent {
  const hash = position.toString(16).padStart(64, "0");
  const place = { position, shard: "session:g1:wnam:0", seq: position, atMs: Date.UTC(2030, 0, day) };
  return { ...place, type, payload: JSON.stringify({ reason: "“wrong”\n", sub }), previous: hash, hash, chain: hash };
}

test("zcat, grep and uniq count the failed sign-ins of each person over two days", async () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-op-archive-"));
  try {
    const days = [
      [
        event(1, "sign-in.failed", "alice", 1),
        event(2, "sign-in.failed", "bob", 1),
        event(3, "sign-in.succeeded", "bob", 1),
      ],
      [event(4, "sign-in.failed", "alice", 2)],
      [event(5, "sign-in.failed", "alice", 45)],
    ];
    for (const events of days) {
      const path = join(folder, "op-audit", segmentKey(events[0]!, 0));
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, new Uint8Array(await encodeSegment(events)));
    }
    const output = execFileSync("sh", ["-c", recipe!], { cwd: folder, encoding: "utf8" });
    expect(
      output
        .trim()
        .split("\n")
        .map((line) => line.trim()),
    ).toEqual(['2 "sub":"alice"', '1 "sub":"bob"']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
