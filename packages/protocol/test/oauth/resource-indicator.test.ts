import { describe, expect, it } from "vitest";
import { isSameResource as isSameInLibrary } from "../../../resource-server/src/token-validation.ts";
import { isSameResource, otherSpellings, registeredSpelling } from "../../src/oauth/resource-indicator.ts";

/** RFC 3986 §6.2, at the provider and in the library for resource servers, which share no code. */
const pairs: readonly (readonly [one: string, other: string, same: boolean])[] = [
  ["https://mcp.example.com", "https://mcp.example.com/", true],
  ["https://mcp.example.com", "HTTPS://MCP.Example.com", true],
  ["https://mcp.example.com:443/a", "https://mcp.example.com/a", true],
  ["http://localhost:80/a", "http://localhost/a", true],
  ["https://mcp.example.com?q=1", "https://mcp.example.com/?q=1", true],
  ["https://[2001:DB8::1]:443", "https://[2001:db8::1]/", true],
  ["https://mcp.example.com/a", "https://mcp.example.com/a/", false],
  ["https://mcp.example.com/a", "https://mcp.example.com/A", false],
  ["https://mcp.example.com?q=a", "https://mcp.example.com?q=A", false],
  ["https://mcp.example.com:80", "https://mcp.example.com", false],
  ["https://mcp.example.com:8443", "https://mcp.example.com", false],
  ["http://mcp.example.com", "https://mcp.example.com", false],
  ["https://mcp.example.com@evil.example", "https://mcp.example.com", false],
  ["urn:example:a", "urn:example:A", false],
  ["api", "API", false],
];

describe("RFC 3986 §6.2: equal resource indicators", () => {
  it.each(pairs)("%s and %s: %s", (one, other, same) => {
    for (const compare of [isSameResource, isSameInLibrary]) {
      expect([compare(one, other), compare(other, one)]).toEqual([same, same]);
    }
    expect(registeredSpelling(one, ["*", other])).toBe(same ? other : one);
  });

  it("other spellings are looked up; a value with a path in one spelling has none", () => {
    expect(otherSpellings("https://mcp.example.com")).toEqual(["https://mcp.example.com/"]);
    expect(otherSpellings("https://MCP.example.com/")).toEqual(["https://mcp.example.com/", "https://mcp.example.com"]);
    expect(otherSpellings("https://mcp.example.com/a")).toEqual([]);
    expect(otherSpellings("urn:example:a")).toEqual([]);
  });
});
