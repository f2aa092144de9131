import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalProvider } from "../../../packages/edge-op/src/local-provider.ts";
import { ProviderFixtures } from "../../conformance/fixtures/provider-fixtures.ts";
import { checkServer } from "./check-server.ts";

/**
 * **The servers of docs/operating/protect-an-api.md whose packages the npm registry does not have.** They need Python, Go, Java and Maven, and their
 * registries.
 */
export const apiProducts = ["fastapi", "fastmcp", "go", "spring"].map((name) => ({
  name: `API: ${name}`,
  show: async (): Promise<object> => {
    const folder = mkdtempSync(join(tmpdir(), `edge-op-${name}-`));
    const provider = await startLocalProvider();
    try {
      const results = await checkServer(name, new ProviderFixtures(provider), folder);
      const { accessToken, ...others } = results;
      assert.equal(accessToken, 200);
      for (const [kind, status] of Object.entries(others)) assert.ok([401, 403].includes(status), `${kind}: ${status}`);
      return results;
    } finally {
      await provider.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
}));
