import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { isShownEvent } from "../../packages/op-auth/src/account/activity.tsx";
import { isConsoleKey } from "../../packages/op-console/src/serve/messages.ts";
import { readRepositoryFile } from "../../scripts/reference/repository-files.ts";

/** Actions of applications and organisations, not of a person's account. */
const others = ["client.use", "organization.member_add"];

/** What follows `action` or `type` in the sources of these files. */
function typesIn(files: string, member: string): readonly string[] {
  const found = new RegExp(`\\b${member}: "([a-z_-]+\\.[a-z_-]+)"`, "g");
  return globSync(files).flatMap((file) => [...readRepositoryFile(file).matchAll(found)].map(([, type]) => type!));
}

test("every event that a person or an administrator causes in an account is shown on the activity page", () => {
  const actions = typesIn("packages/{op-auth/src,op-management/src/users}/**/*.{ts,tsx}", "action");
  expect(actions.length).toBeGreaterThan(20);
  expect(actions.filter((action) => !isShownEvent(action) && !others.includes(action))).toEqual([]);
});

test("every event has words in the console", () => {
  const rows = readRepositoryFile("docs/operating/audit.md")
    .split("\n## ")
    .find((part) => part.startsWith("Events"));
  const documented = [...(rows ?? "").matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell]) =>
    [...cell!.matchAll(/`([a-z_-]+(?:\.[a-z_-]+)?)`/g)].map(([, type]) => type!),
  );
  const changed = ["client", "resource", "user", "role", "group", "issuer", "upstream", "organization", "attribute"];
  const types = [
    ...typesIn("packages/*/src/**/*.{ts,tsx}", "action"),
    ...typesIn("packages/op-state/src/**/*.ts", "type"),
    ...changed.flatMap((noun) => ["create", "update", "delete"].map((verb) => `${noun}.${verb}`)),
    ...documented,
  ];
  expect([types.length > 100, documented.length > 20]).toEqual([true, true]);
  const hasWords = (type: string) => {
    const [noun, verb] = type.split(".");
    return isConsoleKey(`noun.${noun}`) && (verb === undefined || isConsoleKey(`verb.${verb}`));
  };
  expect(types.filter((type) => !hasWords(type))).toEqual([]);
});
