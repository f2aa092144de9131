import { existsSync } from "node:fs";

/** **Finds Chromium**: `CHROMIUM`, or the paths of Debian and others; `undefined` if it is not installed. */
export function findChromium(): string | undefined {
  const candidates = [
    process.env.CHROMIUM,
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  ];
  return candidates.find((path) => path !== undefined && existsSync(path));
}
