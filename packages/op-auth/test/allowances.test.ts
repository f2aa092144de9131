import type { Resource } from "@edge-op/shared/directory/resource";
import { expect, it } from "vitest";
import { groupAllowances, resourceAllowances } from "../src/pages/allowances.ts";

/** Requested access as people read it: that to resources grouped by resource. */
const resourceOf = (identifier: string, name: string, descriptions: Readonly<Record<string, string>>): Resource => ({
  identifier,
  metadata: {
    name,
    clients: "any",
    scopes: Object.entries(descriptions).map(([value, description]) => ({ value, description })),
  },
});
const mail = resourceOf("https://mail.example/mcp", "Mail", { read: "Read your mail", send: "Send mail" });
const files = resourceOf("https://files.example/mcp", "Files", { read: "Read your files" });
const scope = ["openid", "read", "send"];
const asked = ["openid", ...resourceAllowances(mail, scope), ...resourceAllowances(files, scope), "claim:nickname"];

it("one scope value at two resources is shown at each, in its words", () => {
  expect(groupAllowances(asked, [mail, files])).toEqual({
    others: ["openid", "claim:nickname"],
    groups: [
      { identifier: "https://files.example/mcp", name: "Files", descriptions: ["Read your files"] },
      { identifier: "https://mail.example/mcp", name: "Mail", descriptions: ["Read your mail", "Send mail"] },
    ],
  });
});

it("a resource that exists no longer is shown by its identifier and scope values", () => {
  expect(groupAllowances(asked, [files]).groups[1]).toEqual({
    identifier: "https://mail.example/mcp",
    name: "https://mail.example/mcp",
    descriptions: ["read", "send"],
  });
});

it("a resource without scopes, and none at all", () => {
  expect(groupAllowances(resourceAllowances(files, []), [files]).groups).toEqual([
    { identifier: "https://files.example/mcp", name: "Files", descriptions: [] },
  ]);
  expect(groupAllowances(["openid"], [])).toEqual({ others: ["openid"], groups: [] });
});
