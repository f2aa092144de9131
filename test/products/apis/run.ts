/**
 * **Runs the servers of docs/operating/protect-an-api.md whose packages the npm registry does not have**, on demand: `node test/products/apis/run.ts`,
 * or with names. It needs Python, Go, Java and Maven, and their registries.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalProvider } from "../../../packages/edge-op/src/local-provider.ts";
import { ProviderFixtures } from "../../conformance/fixtures/provider-fixtures.ts";
import { checkServer } from "./check-server.ts";

const names = process.argv.length > 2 ? process.argv.slice(2) : ["fastapi", "fastmcp", "go", "spring"];
const provider = await startLocalProvider();
const fixtures = new ProviderFixtures(provider);
for (const name of names) {
  const folder = mkdtempSync(join(tmpdir(), `edge-op-${name}-`));
  try {
    const results = await checkServer(name, fixtures, folder);
    const { accessToken, ...others } = results;
    const isRight = accessToken === 200 && Object.values(others).every((status) => status === 401 || status === 403);
    console.log(`${isRight ? "passed" : "FAILED"} ${name} ${JSON.stringify(results)}`);
    if (!isRight) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
await provider.stop();
