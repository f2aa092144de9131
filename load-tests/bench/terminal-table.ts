import { type BenchLine, ratioOf, type SideName } from "./bench-report.ts";

/** **The bench as it runs**: a line of fixed columns for each endpoint, in at most 100 characters. */
const sides = ["own socket", "front door", "peer"] as const;

const group = (title: string, width: number) => title.padStart(Math.ceil((width + title.length) / 2)).padEnd(width);

export const tableHead = [
  `${"".padEnd(25)}${group("requests/s", 27)} ${group("of its floor", 13)} ${group("x peer", 13)} ${group("p99 ms", 19)}`,
  `${"endpoint".padEnd(25)}${"own".padStart(9)}${"front".padStart(9)}${"peer".padStart(9)} ${"own".padStart(6)}${"front".padStart(7)} ${"own".padStart(6)}${"front".padStart(7)} ${"own".padStart(6)}${"front".padStart(7)}${"peer".padStart(6)}`,
  "-".repeat(100),
].join("\n");

export function lineText(line: BenchLine): string {
  const { endpoint } = line;
  const rate = (side: SideName) => {
    const measured = line.sides[side];
    return (measured === undefined ? "-" : Math.round(measured.perSecond).toLocaleString("en-US")).padStart(9);
  };
  const ratio = (one: SideName, other: SideName, width: number) =>
    (ratioOf(line, one, other)?.toFixed(2) ?? "-").padStart(width);
  const p99 = (side: SideName, width: number) => (line.sides[side]?.p99Ms.toFixed(1) ?? "-").padStart(width);
  return [
    endpoint.padEnd(25) + sides.map(rate).join(""),
    ratio("own socket", "floor, own socket", 6) + ratio("front door", "floor, front door", 7),
    ratio("own socket", "peer", 6) + ratio("front door", "peer", 7),
    p99("own socket", 6) + p99("front door", 7) + p99("peer", 6),
  ].join(" ");
}
