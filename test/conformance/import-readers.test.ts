import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { modularText } from "../../packages/edge-op/src/import/hash-text.ts";
import { toKeycloakClient } from "../../packages/edge-op/src/import/keycloak-clients.ts";
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
  expect(await seen("jsonl", file(content))).toEqual(expected);
});

test("a folder has files of any kind; each is read, and others are not", async () => {
  const path = join(folder, "several");
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
  expect(await seen("cognito", file(content))).toEqual(expected);
});

const password = (secretData: unknown) => ({
  type: "password",
  secretData,
  credentialData: '{"algorithm":"pbkdf2","hashIterations":1}',
});
const sdk = {
  uid: "u",
  email: "u@x",
  photoURL: "https://x/p",
  metadata: { creationTime: "Sun, 13 Sep 2020 12:26:40 GMT" },
};

/** What a record becomes: members of the line, what it lost, or why there is no user. */
test.each<[string, string, unknown, unknown]>([
  ["keycloak", "a realm without users (partial export)", { realm: "acme", clients: [{ clientId: "a" }] }, []],
  [
    "keycloak",
    "a list of users (kcadm get users)",
    [{ id: "1", username: "ann", enabled: true }],
    [{ sub: "1", username: "ann", status: "active" }],
  ],
  [
    "keycloak",
    "several realms",
    [
      { realm: "a", users: [{ id: "1", username: "ann" }] },
      { realm: "b", users: [{ id: "2", username: "bob" }] },
    ],
    [{ sub: "1" }, { sub: "2" }],
  ],
  [
    "keycloak",
    "a user without an id",
    [{ username: "Ann" }],
    [{ sub: expect.stringMatching(/^keycloak-[0-9a-f]{32}$/), leftOut: ["id: the sub is made from the username"] }],
  ],
  [
    "keycloak",
    "a password that is damaged",
    [{ id: "1", username: "ann", credentials: [password('{"value":')] }],
    [{ password_hash: "unsupported: its data is damaged" }],
  ],
  [
    "keycloak",
    "another credential that is damaged",
    [{ id: "1", username: "ann", credentials: [{ type: "otp", secretData: "{" }, 5, null] }],
    [{ leftOut: ["credential of type otp, its data is damaged"] }],
  ],
  [
    "keycloak",
    "a federated user with an identity and required actions",
    [
      {
        id: "1",
        username: "ann",
        federationLink: "ldap",
        requiredActions: ["UPDATE_PASSWORD"],
        federatedIdentities: [{ identityProvider: "google", userId: "7", userName: "a" }],
      },
    ],
    [
      {
        identities: [{ upstream_id: "google", subject: "7", label: "a" }],
        leftOut: ["required action UPDATE_PASSWORD", "federation ldap, which has the password"],
      },
    ],
  ],
  ["keycloak", "a user without a name", [{ id: "1" }, { id: 2, username: 3 }], ["has no username", "has no username"]],
  [
    "auth0",
    "names as the dashboard's extension exports them",
    [
      {
        Id: "google-oauth2|1",
        Email: "a@x",
        "Email Verified": true,
        "Given Name": "A",
        "Created At": "2020-09-13T12:26:40Z",
      },
    ],
    [
      {
        sub: "google-oauth2|1",
        claims: { name: "A", given_name: "A", email: "a@x", email_verified: true },
        identities: [{ upstream_id: "google-oauth2", subject: "1" }],
        created_at: 1600000000,
      },
    ],
  ],
  [
    "auth0",
    "CSV",
    "user_id,email,email_verified,blocked,created_at\nauth0|1,a@x,true,true,2020-09-13T12:26:40.000Z\n",
    [{ sub: "auth0|1", status: "suspended", claims: { email: "a@x", email_verified: true }, created_at: 1600000000 }],
  ],
  [
    "auth0",
    "hashes of kinds and encodings that are not known",
    [
      { user_id: "1", custom_password_hash: { algorithm: "md5", hash: { value: "x" } } },
      {
        user_id: "2",
        custom_password_hash: { algorithm: "scrypt", hash: { value: "x", encoding: "rot13" }, salt: { value: "s" } },
      },
    ],
    [{ password_hash: "unsupported: md5" }, { password_hash: "unsupported: scrypt in another encoding" }],
  ],
  [
    "firebase",
    "a list of the Admin SDK",
    [{ ...sdk, passwordHash: "UkVEQUNURUQ=", providerData: [{ uid: "9", providerId: "google.com" }] }],
    [
      {
        sub: "u",
        claims: { email: "u@x", email_verified: false, picture: "https://x/p" },
        password_hash: "unsupported: REDACTED; export as an owner of the project",
        identities: [{ upstream_id: "google.com", subject: "9" }],
        created_at: 1600000000,
      },
    ],
  ],
  [
    "firebase",
    "CSV, which has no header",
    `u1,a@x,true,,,Ann,,7,a@gmail.x,,${",".repeat(13)}1600000000000,,+491\n`,
    [
      {
        sub: "u1",
        claims: { name: "Ann", phone_number: "+491", phone_number_verified: true, email: "a@x", email_verified: true },
        identities: [{ upstream_id: "google.com", subject: "7", label: "a@gmail.x" }],
        created_at: 1600000000,
      },
    ],
  ],
  [
    "firebase",
    "anonymous accounts and those of a telephone",
    { users: [{ localId: "a" }, { localId: "t", phoneNumber: "+491" }] },
    ["anonymous account", { sub: "t", username: "t", leftOut: ["sign-in by telephone"] }],
  ],
  [
    "cognito",
    "the JSON of list-users",
    {
      Users: [
        {
          Username: "ann",
          Enabled: false,
          UserCreateDate: "2020-09-13T12:26:40Z",
          Attributes: [
            { Name: "sub", Value: "1" },
            { Name: "email", Value: "a@x" },
            { Name: "email_verified", Value: "true" },
          ],
        },
      ],
    },
    [{ sub: "1", username: "ann", status: "suspended", created_at: 1600000000 }],
  ],
  [
    "supabase",
    "CSV of the rows, with identities as text",
    `id,email,phone,encrypted_password,email_confirmed_at,identities\n1,a@x,491,$2a$10$x,2024-01-02,"[{""provider"":""google"",""provider_id"":""7""}]"\n`,
    [
      {
        sub: "1",
        password_hash: "$2a$10$x",
        claims: { phone_number: "+491", email_verified: true },
        identities: [{ upstream_id: "google", subject: "7" }],
      },
    ],
  ],
  [
    "clerk",
    "the JSON of the API",
    [
      {
        id: "u",
        username: null,
        banned: true,
        password_enabled: true,
        primary_email_address_id: "e2",
        email_addresses: [
          { id: "e1", email_address: "b@x" },
          { id: "e2", email_address: "a@x", verification: { status: "verified" } },
        ],
        external_accounts: [{ provider: "oauth_google", provider_user_id: "7" }],
      },
    ],
    [
      {
        sub: "u",
        username: "a@x",
        status: "suspended",
        claims: { email: "a@x", email_verified: true },
        identities: [{ upstream_id: "oauth_google", subject: "7" }],
        leftOut: ["further addresses", "password"],
      },
    ],
  ],
  [
    "zitadel",
    "a page of the API, with a machine",
    {
      details: { totalResult: "2" },
      result: [
        {
          userId: "1",
          state: "USER_STATE_LOCKED",
          username: "a",
          human: {
            profile: { givenName: "A" },
            email: { email: "a@x", isVerified: true },
            passwordChanged: "2024-01-02T00:00:00Z",
          },
        },
        { userId: "2", username: "bot", machine: { name: "Bot" } },
      ],
    },
    [
      { sub: "1", status: "suspended", claims: { email_verified: true }, leftOut: ["password"] },
      "machine user: register a client",
    ],
  ],
])("%s: %s", async (from, _, content, expected) => {
  const users = await read(from, file(content as object));
  const became = users.map((each) => (each.kind === "user" ? { ...each.user, leftOut: each.leftOut } : each.reason));
  expect(became).toMatchObject(expected as object);
  expect(became).toHaveLength((expected as unknown[]).length);
});

test.each<[string, string]>([
  ["$2y$10$x", "$2y$10$x"],
  ["$pbkdf2-sha256$i=27500,l=32$c2FsdA$a2V5", "$pbkdf2-sha256$i=27500$c2FsdA$a2V5"],
  ["$pbkdf2-sha512$29000$c2.sdA$a2V5", "$pbkdf2-sha512$i=29000$c2+sdA$a2V5"],
  ["$pbkdf2$131000$c2FsdA$a2V5", "$pbkdf2-sha1$i=131000$c2FsdA$a2V5"],
  ["pbkdf2_sha256$600000$salt$a2V5", "$pbkdf2-sha256$i=600000$c2FsdA$a2V5"],
  ["$scrypt$ln=16384,r=8,p=1$c2FsdA$a2V5", "$scrypt$ln=14,r=8,p=1$c2FsdA$a2V5"],
  ["$scrypt$ln=14,r=8,p=1$c2FsdA$a2V5", "$scrypt$ln=14,r=8,p=1$c2FsdA$a2V5"],
  ["$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=a2V5$c2FsdA==$a2V5", "$firebase-scrypt$ln=14,r=8$c2FsdAc$a2V5$a2V5"],
  ["$md5$x", "unsupported: md5"],
  ["5f4dcc3b5aa765d61d8327deb882cf99", "unsupported: its form is not known"],
])("the hash %s becomes %s", (given, expected) => {
  expect(modularText(given)).toBe(expected);
});

test("clients of Keycloak: those of SAML, of Keycloak and without a flow are left out; a masked secret is none", () => {
  const client = {
    clientId: "shop",
    protocol: "openid-connect",
    clientAuthenticatorType: "client-secret",
    secret: "**********",
  };
  expect(toKeycloakClient(client).client).not.toHaveProperty("client_secret");
  expect(toKeycloakClient(client).leftOut).toEqual(["the secret, which the file does not have: a new one"]);
  const reasons = [
    { clientId: "s", protocol: "saml" },
    { clientId: "account" },
    { clientId: "b", bearerOnly: true },
    {},
    { clientId: {} },
  ];
  expect(reasons.map((each) => toKeycloakClient(each).reason)).toEqual([
    "SAML client: there is no SAML here",
    "client of Keycloak itself",
    "bearer-only client: register a resource server",
    ...[undefined, undefined],
  ]);
});

describe.each([...sources, ...sourcesOfApis])("mutated files of $from", ({ from, files, options }) => {
  const [source, second] = files;
  const bytes = Buffer.from(
    typeof source.content === "string" ? source.content : JSON.stringify(source.content, null, 1),
  );
  const beside = second === undefined ? undefined : file(second.content, second.name);
  const upstreams = new Map(
    options.flatMap((option) => (option.includes("=") ? [option.split("=") as [string, string]] : [])),
  );

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
