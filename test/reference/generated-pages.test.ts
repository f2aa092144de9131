import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryRoot } from "../../packages/local-provider/src/workers.ts";
import { generatedPages } from "../../scripts/reference/generated-pages.ts";

test.each(Object.entries(generatedPages))("%s is current: npm run check -- --write", (path, make) => {
  expect(readFileSync(join(repositoryRoot, path), "utf8")).toBe(make());
});
