/**
 * **The bench's progress on the terminal**: a line of fixed columns per endpoint, at most 100 characters wide, and one for its compact shape. The
 * peer is like ours.
 */

import { type BenchLine, ratioOf, type SideName } from "./bench-report.ts";

type Columns = Readonly<Record<"own" | "front" | "peer", SideName | undefined>>;

const separate: Columns = { own: "own socket", front: "front door", peer: "peer, like ours" };
/** The compact Worker has one socket and makes no hop. */
const compact: Columns = { own: "compact", front: undefined, peer: undefined };

const group = (title: string, width: number) => title.padStart(Math.ceil((width + title.length) / 2)).padEnd(width);

export const tableHead = [
  `${"".padEnd(25)}${group("requests/s", 27)} ${group("of its floor", 13)} ${group("x peer", 13)} ${group("p99 ms", 19)}`,
  `${"endpoint".padEnd(25)}${"own".padStart(9)}${"front".padStart(9)}${"peer".padStart(9)} ${"own".padStart(6)}${"front".padStart(7)} ${"own".padStart(6)}${"front".padStart(7)} ${"own".padStart(6)}${"front".padStart(7)}${"peer".padStart(6)}`,
  "-".repeat(100),
].join("\n");

export function lineText(line: BenchLine): string {
  const lines = [rowText(line.endpoint, line, separate)];
  if (line.sides.compact !== undefined) lines.push(rowText("  compact", line, compact));
  return lines.join("\n");
}

function rowText(title: string, line: BenchLine, { own, front, peer }: Columns): string {
  const rate = (side: SideName | undefined) => {
    const measured = side && line.sides[side];
    return (measured === undefined ? "-" : Math.round(measured.perSecond).toLocaleString("en-US")).padStart(9);
  };
  const ratio = (one: SideName | undefined, other: SideName, width: number) =>
    ((one && ratioOf(line, one, other)?.toFixed(2)) ?? "-").padStart(width);
  const p99 = (side: SideName | undefined, width: number) =>
    ((side && line.sides[side]?.p99Ms.toFixed(1)) ?? "-").padStart(width);
  return [
    title.padEnd(25) + [own, front, peer].map(rate).join(""),
    ratio(own, "floor, own socket", 6) + ratio(front, "floor, front door", 7),
    ratio(own, "peer, like ours", 6) + ratio(front, "peer, like ours", 7),
    p99(own, 6) + p99(front, 7) + p99(peer, 6),
  ].join(" ");
}
