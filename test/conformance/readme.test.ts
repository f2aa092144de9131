import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { repositoryRoot } from "../../packages/local-provider/src/workers.ts";
import { provider } from "./fixtures/shared-provider.ts";

/** The walk of the README as it stands: each marked block, in one shell, in a directory that looks like the repository's. */
function readWalk(): string[] {
  const readme = readFileSync(join(repositoryRoot, "README.md"), "utf8");
  return [...readme.matchAll(/<!-- walk -->\n```sh\n([\s\S]*?)```/g)].map(([, block]) => block!);
}

test("README: the walk, pasted as it stands, creates, gets, exchanges, introspects, reads, revokes and sees it inactive", async () => {
  const directory = mkdtempSync(join(tmpdir(), "edge-op-walk-"));
  try {
    mkdirSync(join(directory, ".op"));
    writeFileSync(join(directory, ".op", "dev.json"), JSON.stringify(provider.dev));
    cpSync(join(repositoryRoot, "scripts/demo/assertion.mjs"), join(directory, "scripts/demo/assertion.mjs"));
    const separator = "next block";
    const script = readWalk().join(`\necho; echo '${separator}'\n`);
    const { stdout } = await promisify(execFile)("bash", ["-eu", "-c", script], { cwd: directory });
    const outputs = stdout.split(`${separator}\n`).map((text) => text.trim());
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

test("README: every command it names is there, and every file it links to", () => {
  const readme = readFileSync(join(repositoryRoot, "README.md"), "utf8");
  const { scripts } = JSON.parse(readFileSync(join(repositoryRoot, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  const named = new Set([...readme.matchAll(/npm run ([a-z-]+)/g)].map(([, name]) => name!));
  expect([...named].filter((name) => scripts[name] === undefined)).toEqual([]);
  const links = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map(([, path]) => path!);
  expect(links.length).toBeGreaterThan(5);
  expect(links.filter((path) => !existsSync(join(repositoryRoot, path)))).toEqual([]);
});
