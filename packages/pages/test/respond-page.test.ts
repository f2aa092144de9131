import { describe, expect, it } from "vitest";
import { redirect, respondPage } from "../src/respond-page.ts";

describe("RFC 9700 §4.16: headers of a page", () => {
  it("no framing, no foreign script, no caching, no referrer", async () => {
    const { headers } = await respondPage("<p>page</p>");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'; style-src 'self'; script-src 'self'");
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
  });

  it("CSP §6.4.1: form-action keeps forms on this site, except those after which redirects may lead anywhere", async () => {
    const policyOf = async (formLeaves: boolean) =>
      (await respondPage("<p>page</p>", { formLeaves })).headers.get("content-security-policy");
    expect(await policyOf(false)).toContain("; form-action 'self'; base-uri 'none'");
    expect(await policyOf(true)).not.toContain("form-action");
    expect(await policyOf(true)).toContain("; base-uri 'none'");
  });
});

it("RFC 9700 §4.12: redirects with 303 and sets each cookie", () => {
  const response = redirect("/next", ["a=1", undefined, "b=2"]);
  expect(response.status).toBe(303);
  expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
});
