/** **`npm start -- --rehearse-restore`**: a backup, changes, the loss of the database, its restoration; nothing that was ended lives. */

import { expect, inject, test } from "vitest";
import { rehearseRestore } from "../../packages/edge-op/testing/rehearse-restore.ts";
import { keepBuilds } from "./fixtures/kept-builds.ts";

test("ADR 11: after a restoration nothing that was ended lives, and the audit log verifies and shows it", async () => {
  const lines: string[] = [];
  await rehearseRestore(keepBuilds(inject("builds")), (line) => lines.push(line));
  expect(lines.filter((line) => /^\d/.test(line))).toHaveLength(7);
  expect(lines.join("\n")).toContain(
    [
      ...["client notes (secret.rotate)", "client service (client.delete)", "issuer ci (issuer.update)"],
      ...["role editor (role.update)", "user bob (user.update)", "user carol (user.update)"],
      ...["user dora (user.factor_remove)", "user erin (user.update)", "user frank (user.consent_end)"],
      "user grace (user.factor_remove)",
    ].join(", "),
  );
}, 60_000);
