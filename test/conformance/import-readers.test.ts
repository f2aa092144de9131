import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { readUsers, type SourceUser, userReaders } from "../../packages/edge-op/src/import/read-users.ts";
import type { ReaderOptions } from "../../packages/edge-op/src/import/source-user.ts";
import { runCount } from "../simulation/run-count.ts";
import { sources } from "./fixtures/import-sources.ts";
import { sourcesOfApis } from "./fixtures/import-sources-of-apis.ts";
import { mutated, random } from "./fixtures/mutated-file.ts";

/** The readers of `edge-op import`: whatever is in a file, each record is there once. */
const folder = mkdtempSync(join(tmpdir(), "edge-op-readers-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function read(from: string, path: string, given: Partial<ReaderOptions> = {}): Promise<SourceUser[]> {
  const options = { upstreams: new Map(), withRoles: true, beside: undefined, withoutUnusableHashes: true, ...given };
  const users: SourceUser[] = [];
  for await (const user of readUsers(userReaders[from]!, path, options)) users.push(user);
  return users;
}

function file(content: string | Uint8Array | object, name = "file"): string {
  const path = join(folder, name);
  const isRaw = typeof content === "string" || content instanceof Uint8Array;
  writeFileSync(path, isRaw ? content : JSON.stringify(content));
  return path;
}

/** Line and sub of a user, or line and reason. */
async function seen(from: string, path: string): Promise<(readonly [number, unknown])[]> {
  const users = await read(from, path);
  return users.map((each) => [each.line, each.kind === "user" ? each.user["sub"] : each.reason] as const);
}

const [a, b] = ['{"sub":"a","username":"ann"}', '{"sub":"b","username":"bob"}'];
const both = (first = 1, second = 2) => [
  [first, "a"],
  [second, "b"],
];

const utf16be = (text: string) => Buffer.from(text, "utf16le").swap16();
const half = Buffer.concat([Buffer.from(`\ufeff${a}\n{"sub":"`, "utf16le"), Buffer.from([0, 0xd8]), Buffer.from('"}\n', "utf16le")]);

test.each<[string, string | Uint8Array, unknown]>([
  ["a byte order mark", `\ufeff${a}\n${b}\n`, both()],
  ["UTF-16 with a mark", Buffer.from(`\ufeff${a}\n${b}`, "utf16le"), both()],
  ["UTF-16 of the other order", utf16be(`\ufeff${a}\n${b}`), both()],
  ["UTF-16 without a mark", Buffer.from(`${a}\n${b}`, "utf16le"), both()],
  ["half a character of UTF-16", half, [[1, "a"], [2, "is no UTF-8"]]],
  ["bytes that are no UTF-8", Buffer.from(`${a}\n{"sub":"\xe9"}\n${b}`, "latin1"), [[1, "a"], [2, "is no UTF-8"], [3, "b"]]],
  ["CRLF and blank lines", `${a}\r\n\r\n  \r\n${b}\r\n`, both(1, 4)],
  ["CR", `${a}\r\r${b}`, both(1, 3)],
  ["gzip", gzipSync(`${a}\n${b}\n`), both()],
  ["gzip of UTF-16", gzipSync(Buffer.from(`\ufeff${a}\n${b}`, "utf16le")), both()],
  ["gzip that is cut off", gzipSync(`${a}\n${b}\n`).subarray(0, -4), [...both(), [2, "The file cannot be read from here on: unexpected end of file."]]],
  ["a list", `[${a},\n${b}]`, both()],
  ["a list in one line", `[${a},${b}]`, both(1, 1)],
  ["a list over many lines", JSON.stringify([JSON.parse(a), JSON.parse(b)], null, 2), both(2, 6)],
  ["a document with a list", JSON.stringify({ other: [[{}]], users: [JSON.parse(a), JSON.parse(b)] }), both(1, 1)],
  ["objects over many lines without a list", `{\n"sub":"a"}\n{\n"sub":"b"}\n`, both(1, 3)],
  ["a line that is cut off", `${a.slice(0, 9)}\n${b}`, [[1, "is no JSON"], [2, "b"]]],
  ["an object that is not closed", `[${a.slice(0, -1)},\n${b}]`, [[1, "is not closed"], [2, "b"]]],
  ["a text that is not closed", `[\n{"sub":"a\n},\n${b}]`, [[2, "has a text that does not end in its line"], [4, "b"]]],
  ["a list that is cut off", `[${a},\n{"sub"`, [[1, "a"], [2, "is not closed: the file ends in the middle of it"]]],
  ["values that are none of users", `${a}\n5\nnull\n[]\n`, [[1, "a"], [2, "must be an object, not a number"], [3, "must be an object, not null"], [4, "must be an object, not a list"]]],
  ["a line of more than 8 MiB", `${a}\n{"x":"${"x".repeat(9_000_000)}"}\n${b}`, [[1, "a"], [2, "is longer than 8 MiB"], [3, "b"]]],
  ["a value of a list of more than 8 MiB", `[${a},\n{"x":"${"x".repeat(9_000_000)}"},\n${b}]`, [[1, "a"], [2, "is longer than 8 MiB"], [3, "b"]]],
  ["nothing", "", []],
])("%s: each user arrives, or is refused with the line", async (_, content, expected) => {
  expect(await seen("jsonl", file(content))).toEqual(expected);
});

test("a folder has files of any kind; each is read, and others are not", async () => {
  const path = join(folder, "several");
  mkdirSync(path);
  for (const [name, content] of [["1.json", `[${a}]`], ["2.jsonl.gz", gzipSync(b)], ["README", "x"]] as const) {
    writeFileSync(join(path, name), content);
  }
  expect(await seen("jsonl", path)).toEqual([[1, "a"], [1, "b"]]);
});

const header = "cognito:username,email,sub";
test.each<[string, string, unknown]>([
  ["semicolons", "cognito:username;email\nann;a@x\n", [[2, "ann"]]],
  ["tabs", "cognito:username\temail\nann\ta@x\n", [[2, "ann"]]],
  ["a mark, and quotes with line ends in them", `\ufeff${header}\r\n"ann","a\r\nb",1\r\nbob,,2\r\n`, [[2, "1"], [4, "2"]]],
  ["short and long rows", `${header}\nann,x\nbob,,2,\ncleo,,3,4\n`, [[2, "has 2 columns, and the header has 3"], [3, "2"], [4, "has 4 columns, and the header has 3"]]],
  ["a quote that is not closed", `${header}\n"ann,x,1\nbob,,2\n`, [[2, "has a quote that is not closed"], [3, "2"]]],
  ["a quote inside of a value", `${header}\nan""n,x,1\nO"Neil" x,,9\nbob,,2\n`, [[2, "has a quote inside of a value"], [3, "has a quote inside of a value"], [4, "2"]]],
  ["a header without the required column", "name,phone\nann,1\n", [[1, "The header lacks cognito:username or email or sub; it has name, phone. No row is read."]]],
])("CSV with %s", async (_, content, expected) => {
  expect(await seen("cognito", file(content))).toEqual(expected);
});

describe.each([...sources, ...sourcesOfApis])("mutated files of $from", ({ from, files, options }) => {
  const [source, second] = files;
  const bytes = Buffer.from(typeof source.content === "string" ? source.content : JSON.stringify(source.content, null, 1));
  const beside = second === undefined ? undefined : file(second.content, second.name);
  const upstreams = new Map(options.flatMap((option) => (option.includes("=") ? [option.split("=") as [string, string]] : [])));

  test("no file is an error: what was read is there, with a line and a reason", async () => {
    const counts = { files: 0, records: 0, user: 0, refused: 0, leftOut: 0 };
    const seed = Number(process.env["SIMULATION_SEED"] ?? 1);
    const runs = Number(process.env["IMPORT_FILES"] ?? runCount(200, 1000));
    for (let run = 0; run < runs; run += 1) {
      const path = file(mutated(bytes, random(seed * 1_000_003 + run)), `${from}-mutated`);
      let users: SourceUser[];
      try {
        users = await read(from, path, { beside, upstreams });
      } catch (error) {
        throw new Error(`SIMULATION_SEED=${seed}, run ${run}`, { cause: error });
      }
      counts.files += 1;
      for (const user of users) {
        expect(user.line).toBeGreaterThan(0);
        expect(user.kind === "user" ? typeof user.user : user.reason).toMatch(/./);
        counts.records += 1;
        counts[user.kind] += 1;
      }
    }
    expect(counts.user + counts.refused + counts.leftOut).toBe(counts.records);
    expect(counts.user).toBeGreaterThan(0);
    expect(counts.refused).toBeGreaterThan(0);
    if (process.env["IMPORT_FILES"] !== undefined) console.log(from, JSON.stringify(counts));
  }, 1_800_000);
});
