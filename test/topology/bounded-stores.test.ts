import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";

/**
 * Every access to D1 and KV has a time limit: D1 by `queryDatabase`, KV by `readCache` and `writeCache`, parsed from the sources. Functions that only
 * load a record are called inside `queryDatabase` by their users.
 */
const bounds = { D1: ["queryDatabase(", "queryAuditDatabase("], KV: ["within("] } as const;
/** Their callers apply the time limit. */
const loaders = [
  "loadRecord",
  "loadStamped",
  "loadClient",
  "loadUser",
  "loadRbacClaims",
  "loadGenerations",
  "loadIssuer",
];
const loaderFiles =
  /\/(client-directory|record-kinds|read-through|stored-clients|user-directory|issuer-directory|generation-table|document-policy)\.ts$/;

const accesses = [
  { store: "D1", pattern: /\.(?:first|all|run|raw)(?:<[^;]*?>)?\(\)|\b(?:DB|database)\)?\.batch(?:<[^;(]*>)?\(/g },
  { store: "D1", pattern: new RegExp(`\\b(?:${loaders.join("|")})\\((?!database: )`, "g") },
  { store: "KV", pattern: /\bCACHE\.(?:get|put|delete|list|getWithMetadata)\b/g },
] as const;

/** Rows of SQL storage and of forms are read by methods with the same names. */
const otherReceivers = /(?:this\.#opened|\bopened|this\.#rows|this)\.all\(\)$/;

function sourceFiles(): string[] {
  return readdirSync(join(repositoryRoot, "packages"))
    .filter((name) => name.startsWith("op") || name === "shared")
    .flatMap((name) =>
      readdirSync(join(repositoryRoot, "packages", name, "src"), { recursive: true, encoding: "utf8" })
        .filter((path) => path.endsWith(".ts") || path.endsWith(".tsx"))
        .map((path) => `packages/${name}/src/${path}`),
    );
}

/** Whether a position is inside the parentheses of a call, which may have been opened some lines before. */
function isInside(text: string, position: number, call: string): boolean {
  for (let start = text.lastIndexOf(call, position); start >= 0; start = text.lastIndexOf(call, start - 1)) {
    let depth = 0;
    let isOpen = true;
    for (const character of text.slice(start + call.length, position)) {
      if (character === "(") depth += 1;
      if (character === ")") depth -= 1;
      if (depth < 0) isOpen = false;
    }
    if (isOpen) return true;
    if (position - start > 2_000) return false;
  }
  return false;
}

function unbounded(path: string, text: string): string[] {
  return accesses.flatMap(({ store, pattern }) =>
    [...text.matchAll(pattern)]
      .filter((match) => {
        const end = match.index + match[0].length;
        const line = text.slice(text.lastIndexOf("\n", match.index) + 1, end);
        if (
          otherReceivers.test(line) ||
          /^\s*(?:\*|\/\/|async function|export async function|function|load:)/.test(line)
        )
          return false;
        return !bounds[store].some((bound) => isInside(text, match.index, bound));
      })
      .map((match) => `${path}: ${match[0]}`),
  );
}

test("every read and write of D1 and KV has a time limit", () => {
  const files = sourceFiles();
  const found = files
    .filter((path) => !loaderFiles.test(path))
    .flatMap((path) => unbounded(path, readFileSync(join(repositoryRoot, path), "utf8")));
  expect(found).toEqual([]);
});

test("an access without a limit is detected", () => {
  const examples = [
    "const row = await database.prepare(sql).bind(1).first<Row>();",
    "await env.DB.batch([one, two]);",
    "await peopleOf(env.DB).batch([one, two]);",
    "const client = await loadClient(env.DB, id);",
    'const copy = await context.env.CACHE.get(key, "json");',
    "await queryDatabase(() => one.run()); await two.run();",
  ];
  for (const example of examples) expect(unbounded("example.ts", example), example).toHaveLength(1);
  expect(
    unbounded("example.ts", "await queryDatabase(() =>\n  database.prepare(sql).bind(1).first<Row>(),\n);"),
  ).toEqual([]);
});

/**
 * What an isolate keeps between requests, and the file that notes the records on which it rests (ADR 12). A cache that notes nothing makes a decision
 * stand that has read an old record.
 */
const remembered: Readonly<Record<string, string>> = {
  "read-through.ts": "read-through.ts",
  "client-secret.ts": "client-secret.ts",
  "remembered-decisions.ts": "remembered-decisions.ts",
  "verified-tokens.ts": "access-token.ts",
  "isolate.ts": "no record: a guess, which the object judges",
  "read-proof.ts": "no record: keys that proofs contain, and used proofs",
  "rate-limit.ts": "no record: counters",
  "host-budget.ts": "no record: counters",
  "fetched-documents.ts": "no record: documents of others",
  "client-directory.ts": "no record: clients whose use was written today",
};

test("ADR 12: whatever an isolate remembers of records is noted when a decision uses it", () => {
  const sources = sourceFiles().map((path) => ({ path, text: readFileSync(join(repositoryRoot, path), "utf8") }));
  const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
  const caches = sources.filter(({ text }) => /new IsolateCache\b/.test(text)).map(({ path }) => nameOf(path));
  expect(caches.toSorted()).toEqual(Object.keys(remembered).toSorted());
  const noting = Object.values(remembered).filter((name) => !name.startsWith("no record"));
  const silent = noting.filter(
    (name) => !sources.some(({ path, text }) => nameOf(path) === name && /reads\??\.note\(/.test(text)),
  );
  expect(silent).toEqual([]);
});
