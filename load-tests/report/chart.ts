export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly dashed?: boolean;
}

const width = 640;
const height = 300;
const margin = { left: 64, right: 16, top: 16, bottom: 44 };
const colours = ["#0b6bcb", "#c4530a", "#8e2fb5", "#1a7f4b", "#b3261e", "#5b6470"];

/** A round number at or above the value: 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= value)!;
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** **A line chart as inline SVG**: no script, no font, readable in dark and light. Both axes start at zero. */
export function lineChart(title: string, xLabel: string, yLabel: string, series: readonly Series[]): string {
  const drawn = series.filter(({ points }) => points.length > 0);
  const all = drawn.flatMap(({ points }) => points);
  const xMax = roundUp(Math.max(0, ...all.map(([x]) => x)));
  const yMax = roundUp(Math.max(0, ...all.map(([, y]) => y)));
  const atX = (x: number) => margin.left + (x / xMax) * (width - margin.left - margin.right);
  const atY = (y: number) => height - margin.bottom - (y / yMax) * (height - margin.top - margin.bottom);
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  const grid = ticks.flatMap((share) => [
    `<line x1="${margin.left}" x2="${width - margin.right}" y1="${atY(share * yMax)}" y2="${atY(share * yMax)}" class="grid"/>`,
    `<text x="${margin.left - 8}" y="${atY(share * yMax) + 4}" text-anchor="end">${label(share * yMax)}</text>`,
    `<text x="${atX(share * xMax)}" y="${height - margin.bottom + 18}" text-anchor="middle">${label(share * xMax)}</text>`,
  ]);
  const lines = drawn.map(({ points, dashed }, index) => {
    const colour = colours[index % colours.length]!;
    const path = points.map(([x, y]) => `${atX(x).toFixed(1)},${atY(y).toFixed(1)}`).join(" ");
    const dots = points
      .map(([x, y]) => `<circle cx="${atX(x).toFixed(1)}" cy="${atY(y).toFixed(1)}" r="3" fill="${colour}"/>`)
      .join("");
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"${dashed ? ' stroke-dasharray="6 4"' : ""}/>${dots}`;
  });
  const legend = drawn.map(
    ({ name }, index) =>
      `<span><i style="background:${colours[index % colours.length]}"></i>${escapeHtml(name)}</span>`,
  );
  return [
    `<figure><figcaption>${escapeHtml(title)}</figcaption>`,
    `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(title)}">`,
    ...grid,
    `<text x="${width / 2}" y="${height - 6}" text-anchor="middle">${escapeHtml(xLabel)}</text>`,
    `<text x="14" y="${height / 2}" text-anchor="middle" transform="rotate(-90 14 ${height / 2})">${escapeHtml(yLabel)}</text>`,
    ...lines,
    `</svg><p class="legend">${legend.join("")}</p></figure>`,
  ].join("\n");
}

function label(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(3)));
}
