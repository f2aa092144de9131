import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { clientDocumentPath, startDemoRp } from "../../examples/application/src/start-demo-rp.ts";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { Person, textOf } from "../../packages/edge-op/testing/person.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/** A walk through a page as written: each marked block, pasted into one interactive shell, in a directory like the repository's. */
function readWalk(page: string, mark: string): string[] {
  const text = readFileSync(join(repositoryRoot, page), "utf8");
  return [...text.matchAll(/<!-- ([a-z ]+) -->\n```sh\n([\s\S]*?)```/g)].flatMap(([, name, block]) =>
    name === mark ? [block!] : [],
  );
}

const tour = "docs/tour.md";
const separator = "next block";
/** Interactive, without a person's own files: zsh then takes no comments. */
const shells = { bash: ["--norc", "--noprofile", "-i"], zsh: ["-f", "-i"] } as const;
type Shell = keyof typeof shells;

function isInstalled(shell: Shell): boolean {
  return spawnSync(shell, ["-c", "true"]).status === 0;
}

if (!isInstalled("zsh")) {
  if (process.env["CI"]) throw new Error("zsh is not installed");
  console.warn("zsh is not installed: walks are only pasted into bash.");
}

async function runBlocks(shell: Shell, blocks: readonly string[], directory: string, dev = provider.dev) {
  mkdirSync(join(directory, ".op"));
  writeFileSync(join(directory, ".op", "dev.json"), JSON.stringify(dev));
  const child = spawn(shell, shells[shell], { cwd: directory, stdio: ["pipe", "pipe", "pipe"] });
  let [output, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  child.stdin.end(`set -e\n${blocks.join(`\necho; echo '${separator}'\n`)}\nexit\n`);
  const [code] = (await once(child, "close")) as [number];
  if (code !== 0) throw new Error(`${shell} ended with ${code}: ${errors}`);
  return output.split(`${separator}\n`).map((text) => text.trim());
}

/** A person signs in at the demo application; returns what its page says about the access token. */
async function signInAtDemo(origin: string): Promise<() => Promise<string>> {
  const { username, password } = provider.dev.users.alice;
  const login = await fetch(`${origin}/login`, { redirect: "manual" });
  const cookie = login.headers.get("set-cookie")!.split(";")[0]!;
  const { url } = await new Person(provider.issuer, { username, password }).visit(login.headers.get("location")!);
  await fetch(url, { headers: { cookie } });
  return async () => textOf(await (await fetch(`${origin}/check`, { headers: { cookie } })).text());
}

/** `npm test -- --all` pastes the same walks into zsh. */
const pasted: readonly Shell[] = process.env["LONG_TESTS"] === "off" ? ["bash"] : ["bash", "zsh"];

describe.each(pasted.filter(isInstalled))("pasted into %s", (shell) => {
  test("README: the first walk: a token of a sign-in at the demo is revoked everywhere", async () => {
    const directory = mkdtempSync(join(tmpdir(), "edge-op-first-walk-"));
    const [port, oldUris] = [await findFreePort("127.0.0.1"), provider.dev.clients.app.redirect_uris];
    const application = await startDemoRp({ port, issuer: provider.issuer, client: provider.dev.clients.app });
    try {
      const redirect_uris = [...oldUris!, `${application.origin}/callback`];
      await fixtures.admin.require("PATCH", "/clients/demo-app", { redirect_uris });
      const check = await signInAtDemo(application.origin);
      expect(await check()).toContain("The access token: active at /introspect, accepted at /userinfo.");
      const [revoked] = await runBlocks(shell, readWalk("README.md", "first walk"), directory);
      expect(JSON.parse(revoked!)).toHaveProperty("revoked_at");
      expect(await check()).toContain("The access token: not active at /introspect, refused at /userinfo.");
    } finally {
      await fixtures.admin.require("PATCH", "/clients/demo-app", { redirect_uris: oldUris });
      await application.stop();
      rmSync(directory, { recursive: true, force: true });
    }
  });

  test("tour: the walk creates, gets, exchanges, introspects, reads, revokes and sees it inactive", async () => {
    const directory = mkdtempSync(join(tmpdir(), "edge-op-walk-"));
    try {
      cpSync(join(repositoryRoot, "scripts/demo/assertion.mjs"), join(directory, "scripts/demo/assertion.mjs"));
      const outputs = await runBlocks(shell, readWalk(tour, "walk"), directory);
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

  test("tour: the second walk connects the MCP client, calls a tool, requests a scope, refreshes, and is cut off", async () => {
    const directory = mkdtempSync(join(tmpdir(), "edge-op-mcp-walk-"));
    const port = await findFreePort("127.0.0.1");
    const application = await startDemoRp({ port, issuer: provider.issuer, client: provider.dev.clients.app });
    try {
      for (const name of ["package.json", "scripts", "node_modules"]) {
        symlinkSync(join(repositoryRoot, name), join(directory, name));
      }
      const [helpers] = readWalk(tour, "walk");
      const dev = { ...provider.dev, client_document: application.origin + clientDocumentPath };
      const [, connected, unregistered, cutOff] = await runBlocks(
        shell,
        [helpers!, ...readWalk(tour, "mcp walk")],
        directory,
        dev,
      );
      expect(connected!.split("\n")).toEqual([
        "whoami",
        "list_notes",
        "add_note",
        expect.stringMatching(/^[12] notes$/),
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
});

const pages = ["README.md", tour, "docs/test-provider.md", "packages/edge-op/README.md"];

test.each(pages)("%s: every named command exists, and no command has a comment, which zsh would execute", (page) => {
  const text = readFileSync(join(repositoryRoot, page), "utf8");
  const { scripts } = JSON.parse(readFileSync(join(repositoryRoot, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  const named = new Set([...text.matchAll(/npm run (?:-s )?([a-z-]+)/g)].map(([, name]) => name!));
  expect([...named].filter((name) => scripts[name] === undefined)).toEqual([]);
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block!);
  expect(blocks.length).toBeGreaterThan(0);
  expect(blocks.filter((block) => /(^|\s)#/m.test(block))).toEqual([]);
});

test("README: its figures are those of the stored report, and its pictures are small", () => {
  const readme = readFileSync(join(repositoryRoot, "README.md"), "utf8");
  const report = readFileSync(join(repositoryRoot, "load-tests/reports/bench/bench.md"), "utf8");
  const rowOf = (text: string, name: string) =>
    (new RegExp(`^\\| ${name} \\|(.*)\\|$`, "m").exec(text)?.[1] ?? "").split("|").map((cell) => cell.trim());
  const rates = report.slice(report.indexOf("## Requests per second"));
  const measured = ["introspect", "userinfo", "client_credentials", "refresh"].map((name) => rowOf(rates, name));
  expect(rowOf(readme, "Edge OP")).toEqual(measured.map((row) => row[0]));
  expect(rowOf(readme, "node-oidc-provider, in memory")).toEqual(measured.map((row) => row.at(-2)));
  expect(rowOf(readme, "node-oidc-provider, like ours")).toEqual(measured.map((row) => row.at(-1)));
  const [, date, commit] = /^(\d{4}-\d\d-\d\d)\S*, commit (\w+)/m.exec(report) ?? [];
  expect(readme).toContain(`${date}, commit ${commit}, \`npm run bench\``);
  const pictures = [...readme.matchAll(/docs\/images\/[\w-]+\.webp/g)].map(([path]) => join(repositoryRoot, path));
  expect(pictures.length).toBe(4);
  for (const path of pictures) expect(statSync(path).size).toBeLessThan(60 * 1024);
});
