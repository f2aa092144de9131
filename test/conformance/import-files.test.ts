import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { ReadFiles } from "./fixtures/read-files.ts";

/** Files of `edge-op import` in every encoding, form and state of damage. */
const own = new ReadFiles();
afterAll(() => own.remove());

/** Line and sub of a user, or line and reason. */
async function seen(from: string, path: string): Promise<(readonly [number, unknown])[]> {
  const users = await own.read(from, path);
  return users.map((each) => [each.line, each.kind === "user" ? each.user["sub"] : each.reason] as const);
}

const [a, b] = ['{"sub":"a","username":"ann"}', '{"sub":"b","username":"bob"}'];
const both = (first = 1, second = 2) => [
  [first, "a"],
  [second, "b"],
];

const utf16be = (text: string) => Buffer.from(text, "utf16le").swap16();
const half = Buffer.concat([
  Buffer.from(`\ufeff${a}\n{"sub":"`, "utf16le"),
  Buffer.from([0, 0xd8]),
  Buffer.from('"}\n', "utf16le"),
]);

test.each<[string, string | Uint8Array, unknown]>([
  ["a byte order mark", `\ufeff${a}\n${b}\n`, both()],
  ["UTF-16 with a mark", Buffer.from(`\ufeff${a}\n${b}`, "utf16le"), both()],
  ["UTF-16 of the other order", utf16be(`\ufeff${a}\n${b}`), both()],
  ["UTF-16 without a mark", Buffer.from(`${a}\n${b}`, "utf16le"), both()],
  [
    "half a character of UTF-16",
    half,
    [
      [1, "a"],
      [2, "is no UTF-8"],
    ],
  ],
  [
    "bytes that are no UTF-8",
    Buffer.from(`${a}\n{"sub":"\xe9"}\n${b}`, "latin1"),
    [
      [1, "a"],
      [2, "is no UTF-8"],
      [3, "b"],
    ],
  ],
  ["CRLF and blank lines", `${a}\r\n\r\n  \r\n${b}\r\n`, both(1, 4)],
  ["CR", `${a}\r\r${b}`, both(1, 3)],
  ["gzip", gzipSync(`${a}\n${b}\n`), both()],
  ["gzip of UTF-16", gzipSync(Buffer.from(`\ufeff${a}\n${b}`, "utf16le")), both()],
  [
    "gzip that is cut off",
    gzipSync(`${a}\n${b}\n`).subarray(0, -4),
    [...both(), [2, "The file cannot be read from here on: unexpected end of file."]],
  ],
  ["a list", `[${a},\n${b}]`, both()],
  ["a list in one line", `[${a},${b}]`, both(1, 1)],
  ["a list over many lines", JSON.stringify([JSON.parse(a), JSON.parse(b)], null, 2), both(2, 6)],
  ["a document with a list", JSON.stringify({ other: [[{}]], users: [JSON.parse(a), JSON.parse(b)] }), both(1, 1)],
  ["objects over many lines without a list", `{\n"sub":"a"}\n{\n"sub":"b"}\n`, both(1, 3)],
  [
    "a line that is cut off",
    `${a.slice(0, 9)}\n${b}`,
    [
      [1, "is no JSON"],
      [2, "b"],
    ],
  ],
  [
    "an object that is not closed",
    `[${a.slice(0, -1)},\n${b}]`,
    [
      [1, "is not closed"],
      [2, "b"],
    ],
  ],
  [
    "a text that is not closed",
    `[\n{"sub":"a\n},\n${b}]`,
    [
      [2, "has a text that does not end in its line"],
      [4, "b"],
    ],
  ],
  [
    "a list that is cut off",
    `[${a},\n{"sub"`,
    [
      [1, "a"],
      [2, "is not closed: the file ends in the middle of it"],
    ],
  ],
  [
    "values that are none of users",
    `${a}\n5\nnull\n[]\n`,
    [
      [1, "a"],
      [2, "must be an object, not a number"],
      [3, "must be an object, not null"],
      [4, "must be an object, not a list"],
    ],
  ],
  [
    "a line of more than 8 MiB",
    `${a}\n{"x":"${"x".repeat(9_000_000)}"}\n${b}`,
    [
      [1, "a"],
      [2, "is longer than 8 MiB"],
      [3, "b"],
    ],
  ],
  [
    "a value of a list of more than 8 MiB",
    `[${a},\n{"x":"${"x".repeat(9_000_000)}"},\n${b}]`,
    [
      [1, "a"],
      [2, "is longer than 8 MiB"],
      [3, "b"],
    ],
  ],
  ["nothing", "", []],
])("%s: each user arrives, or is refused with the line", async (_, content, expected) => {
  expect(await seen("jsonl", own.file(content))).toEqual(expected);
});

test("a folder has files of any kind; each is read, and others are not", async () => {
  const path = join(own.folder, "several");
  mkdirSync(path);
  for (const [name, content] of [
    ["1.json", `[${a}]`],
    ["2.jsonl.gz", gzipSync(b)],
    ["README", "x"],
  ] as const) {
    writeFileSync(join(path, name), content);
  }
  expect(await seen("jsonl", path)).toEqual([
    [1, "a"],
    [1, "b"],
  ]);
});

const header = "cognito:username,email,sub";
test.each<[string, string, unknown]>([
  ["semicolons", "cognito:username;email\nann;a@x\n", [[2, "ann"]]],
  ["tabs", "cognito:username\temail\nann\ta@x\n", [[2, "ann"]]],
  [
    "a mark, and quotes with line ends in them",
    `\ufeff${header}\r\n"ann","a\r\nb",1\r\nbob,,2\r\n`,
    [
      [2, "1"],
      [4, "2"],
    ],
  ],
  [
    "short and long rows",
    `${header}\nann,x\nbob,,2,\ncleo,,3,4\n`,
    [
      [2, "has 2 columns, and the header has 3"],
      [3, "2"],
      [4, "has 4 columns, and the header has 3"],
    ],
  ],
  [
    "a quote that is not closed",
    `${header}\n"ann,x,1\nbob,,2\n`,
    [
      [2, "has a quote that is not closed"],
      [3, "2"],
    ],
  ],
  [
    "a quote inside of a value",
    `${header}\nan""n,x,1\nO"Neil" x,,9\nbob,,2\n`,
    [
      [2, "has a quote inside of a value"],
      [3, "has a quote inside of a value"],
      [4, "2"],
    ],
  ],
  [
    "a header without the required column",
    "name,phone\nann,1\n",
    [[1, "The header lacks cognito:username or email or sub; it has name, phone. No row is read."]],
  ],
])("CSV with %s", async (_, content, expected) => {
  expect(await seen("cognito", own.file(content))).toEqual(expected);
});
