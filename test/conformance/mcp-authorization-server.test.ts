import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { registerPerson } from "./fixtures/register-person.ts";
import { fixtures } from "./fixtures/shared-provider.ts";

/**
 * The published MCP conformance tool's scenarios for authorization servers, unchanged, against the running provider. The person follows the URL that
 * it prints.
 */
const packageJson = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json");
const tool = join(dirname(packageJson), "dist/index.js");

let running: ChildProcess | undefined;
afterEach(() => {
  running?.kill();
});

async function run(options: readonly string[], visit: (url: string) => Promise<void>) {
  const child = spawn(process.execPath, [tool, "authorization", "--url", fixtures.issuer, ...options]);
  running = child;
  let output = "";
  let visited: Promise<void> | undefined;
  const read = (chunk: Buffer) => {
    output += chunk.toString();
    const [url] = /http\S+\/authorize\?\S+/.exec(output) ?? [];
    if (url !== undefined && output.includes("Waiting up to")) visited ??= visit(url);
  };
  child.stdout.on("data", read);
  child.stderr.on("data", read);
  const code = await new Promise<number | null>((resolve) => {
    child.on("close", resolve);
  });
  await visited;
  return { code, output };
}

test.each(["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])(
  "MCP %s: the tool's scenarios for authorization servers succeed",
  async (version) => {
    const port = await findFreePort("127.0.0.1");
    const person = (await registerPerson(fixtures)).browser();
    const client = await fixtures.client({
      // The tool uses no secret if the metadata list `none`.
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      redirect_uris: [`http://127.0.0.1:${port}/callback`],
      scope: "openid offline_access",
    });
    // MCP requires `resource`; the tool sends no scope, so the scope is the default of the resource (RFC 6749 §3.3).
    const identifier = `https://mcp.example.com/${crypto.randomUUID()}/mcp`;
    const scopes = [{ value: "mcp:tools", description: "Use the tools", default: true }];
    const resource = { identifier, name: "Tools", clients: "registered", scopes };
    expect((await fixtures.admin.call("POST", "/resources", resource)).status).toBe(201);
    const credentials = [
      "--resource",
      identifier,
      "--client-id",
      client.client_id,
      "--client-secret",
      client.client_secret,
    ];
    const { code, output } = await run(
      ["--spec-version", version, "--port", String(port), ...credentials],
      async (url) => {
        const { url: callback } = await person.visit(url);
        await fetch(callback);
      },
    );
    expect([code, /\bFAILURE\b|\bWARNING\b/.exec(output)?.[0]], output).toEqual([0, undefined]);
    expect(output).toContain("authorization-code-grant");
  },
);
