import { afterAll, describe, expect, test } from "vitest";
import { modularText } from "../../packages/edge-op/src/import/hash-text.ts";
import { toKeycloakClient } from "../../packages/edge-op/src/import/import-clients.ts";
import type { SourceUser } from "../../packages/edge-op/src/import/read-users.ts";
import { runCount } from "../simulation/run-count.ts";
import { importRecords } from "./fixtures/import-records.ts";
import { sources } from "./fixtures/import-sources.ts";
import { sourcesOfApis } from "./fixtures/import-sources-of-apis.ts";
import { mutated, random } from "./fixtures/mutated-file.ts";
import { ReadFiles } from "./fixtures/read-files.ts";

/** The readers of `edge-op import`: whatever is in a record, it is there once. */
const own = new ReadFiles();
afterAll(() => own.remove());

test.each(importRecords)("%s: %s", async (from, _, content, expected) => {
  const users = await own.read(from, own.file(content));
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
  const [source, second] = [files[0]!, files[1]];
  const bytes = Buffer.from(
    typeof source.content === "string" ? source.content : JSON.stringify(source.content, null, 1),
  );
  const beside = second === undefined ? undefined : own.file(second.content, second.name);
  const upstreams = new Map(
    options.flatMap((option) => (option.includes("=") ? [option.split("=") as [string, string]] : [])),
  );

  test("no file is an error: what was read is there, with a line and a reason", async () => {
    const counts = { files: 0, records: 0, user: 0, refused: 0, leftOut: 0 };
    const seed = Number(process.env["SIMULATION_SEED"] ?? 1);
    const runs = Number(process.env["IMPORT_FILES"] ?? runCount(40, 400));
    for (let run = 0; run < runs; run += 1) {
      const path = own.file(mutated(bytes, random(seed * 1_000_003 + run)), `${from}-mutated`);
      let users: SourceUser[];
      try {
        users = await own.read(from, path, { beside, upstreams });
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
    if (process.env["IMPORT_FILES"] !== undefined) process.stdout.write(`${from} ${JSON.stringify(counts)}\n`);
  }, 1_800_000);
});
