import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalProvider } from "../../../packages/edge-op/src/local-provider.ts";
import { ProviderFixtures } from "../../conformance/fixtures/provider-fixtures.ts";
import { install } from "../install.ts";

interface Outcome {
  readonly status: number;
  readonly text: string;
}

/** What is done otherwise on purpose: `active` is always said, and nobody empties a group by leaving out whom they mean. */
const deviations = [
  "PATCH modify() did not remove attribute 'active'",
  "Failed to remove attribute 'members': remove of members names whom.",
];

/** **docs/operating/scim.md**: two conformance suites for SCIM 2.0 change the people and groups of an organisation. */
async function show(): Promise<object> {
  const folder = join(tmpdir(), "edge-op-products", "scim2");
  await install(folder, { pip: ["scim2-tester==0.5.2", "scim2-cli==0.6.0", "scim-sanity==0.7.4"] });
  const provider = await startLocalProvider();
  try {
    const { admin } = new ProviderFixtures(provider);
    await admin.require("POST", "/organizations", { org_id: "acme", name: "Acme" });
    const made = await admin.require("POST", "/organizations/acme/scim-tokens", { name: "suites" });
    const token = String((made as { token?: unknown }).token);
    const url = `${provider.issuer}/scim/acme/v2`;
    const run = (command: string, words: readonly string[]) =>
      new Promise<Outcome>((resolve) => {
        const env = { ...process.env, SCIM_CLI_HEADERS: `Authorization: Bearer ${token}`, NO_COLOR: "1" };
        execFile(join(folder, ".venv/bin", command), words, { env, maxBuffer: 100_000_000 }, (error, out, err) =>
          resolve({ status: typeof error?.code === "number" ? error.code : error === null ? 0 : 1, text: out + err }),
        );
      });
    const tester = await run("scim", ["--url", url, "test", "--verbose"]);
    const errors = [...tester.text.matchAll(/^(?:ERROR|CRITICAL).*\n *(.*)/gm)].map(([, reason]) => reason);
    assert.deepEqual(errors, deviations, tester.text);
    const sanity = await run("scim-sanity", ["probe", url, "--token", token, "--i-accept-side-effects"]);
    // Its group has members that do not exist: they are refused, as those of another organisation are.
    assert.match(sanity.text, /26 passed, 2 failed, 3 skipped/, sanity.text);
    assert.match(sanity.text, /\[E5\] Trouble: Group member PATCH rejected.*Result: 1 root cause/s, sanity.text);
    return {
      "scim2-tester": `${tester.text.match(/^SUCCESS/gm)?.length} checks`,
      "scim-sanity": "26 passed, 2 refused on purpose",
    };
  } finally {
    await provider.stop();
  }
}

export const scimProducts = [{ name: "SCIM: scim2-tester and scim-sanity", show }];
