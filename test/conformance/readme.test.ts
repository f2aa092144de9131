import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { clientDocumentPath, startDemoRp } from "../../packages/demo-rp/src/start-demo-rp.ts";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { provider } from "./fixtures/shared-provider.ts";

/** A walk through the README as written: each marked block, in one shell, in a directory like the repository's. */
function readWalk(mark = "walk"): string[] {
  const readme = readFileSync(join(repositoryRoot, "README.md"), "utf8");
  return [...readme.matchAll(/<!-- ([a-z ]+) -->\n```sh\n([\s\S]*?)```/g)].flatMap(([, name, block]) =>
    name === mark ? [block!] : [],
  );
}

const separator = "next block";

async function runBlocks(blocks: readonly string[], directory: string, dev = provider.dev): Promise<string[]> {
  mkdirSync(join(directory, ".op"));
  writeFileSync(join(directory, ".op", "dev.json"), JSON.stringify(dev));
  const script = blocks.join(`\necho; echo '${separator}'\n`);
  const { stdout } = await promisify(execFile)("bash", ["-eu", "-c", script], { cwd: directory });
  return stdout.split(`${separator}\n`).map((text) => text.trim());
}

test("README: the walk, executed as written, creates, gets, exchanges, introspects, reads, revokes and sees it inactive", async () => {
  const directory = mkdtempSync(join(tmpdir(), "edge-op-walk-"));
  try {
    cpSync(join(repositoryRoot, "scripts/demo/assertion.mjs"), join(directory, "scripts/demo/assertion.mjs"));
    const outputs = await runBlocks(readWalk(), directory);
    const [helpers, created, token, exchanged, active, userinfo, revoked, inactive] = outputs;
    expect([helpers, created, exchanged, revoked]).toEqual(["", "", "", ""]);
    expect(JSON.parse(token!)).toMatchObject({ token_type: "Bearer", scope: "api:read", expires_in: 3600 });
    expect(JSON.parse(active!)).toMatchObject({
      active: true,
      sub: "alice",
      aud: "https://reports.example.com",
      scope: "api:read roles",
      roles: ["editor"],
    });
    expect(JSON.parse(userinfo!)).toMatchObject({ sub: "alice", name: "Alice Adams", email: "alice@example.com" });
    expect(inactive).toBe('{"active":false}');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("README: the second walk connects the MCP client, calls a tool, requests a scope, refreshes, and is cut off", async () => {
  const directory = mkdtempSync(join(tmpdir(), "edge-op-mcp-walk-"));
  const port = await findFreePort("127.0.0.1");
  const application = await startDemoRp({ port, issuer: provider.issuer, client: provider.dev.clients.app });
  try {
    for (const name of ["package.json", "scripts", "node_modules"]) {
      symlinkSync(join(repositoryRoot, name), join(directory, name));
    }
    const [helpers] = readWalk();
    const dev = { ...provider.dev, client_document: application.origin + clientDocumentPath };
    const [, connected, unregistered, cutOff] = await runBlocks([helpers!, ...readWalk("mcp walk")], directory, dev);
    expect(connected!.split("\n")).toEqual([
      "whoami",
      "list_notes",
      "add_note",
      "1 notes",
      expect.stringMatching(/^refreshed; scope: .*notes:write/),
    ]);
    expect(unregistered!.split("\n")).toEqual([
      `alice, by ${dev.client_document}, with notes:read offline_access`,
      expect.stringMatching(/^alice, by [\w-]+, with notes:read offline_access$/),
    ]);
    expect(cutOff).toMatch(/^\{.*"revoked_at".*\}\n?The client is cut off\.$/);
  } finally {
    await application.stop();
    rmSync(directory, { recursive: true, force: true });
  }
});

test("README: every named command exists, and every linked file", () => {
  const readme = readFileSync(join(repositoryRoot, "README.md"), "utf8");
  const { scripts } = JSON.parse(readFileSync(join(repositoryRoot, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  const named = new Set([...readme.matchAll(/npm run (?:-s )?([a-z-]+)/g)].map(([, name]) => name!));
  expect([...named].filter((name) => scripts[name] === undefined)).toEqual([]);
  const links = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map(([, path]) => path!);
  expect(links.length).toBeGreaterThan(5);
  expect(links.filter((path) => !existsSync(join(repositoryRoot, path)))).toEqual([]);
});
