import { describe, expect, it } from "vitest";
import { redirect, respondPage } from "../src/respond-page.ts";

async function policy(formTarget?: string): Promise<string> {
  const response = await respondPage("<p>page</p>", { formTarget });
  return response.headers.get("content-security-policy") ?? "";
}

describe("RFC 9700 §4.16: headers of a page", () => {
  it("no framing, no foreign script, no caching, no referrer", async () => {
    const { headers } = await respondPage("<p>page</p>");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'; style-src 'self'; script-src 'self'");
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
  });

  it.each([
    [undefined, "form-action 'self';"],
    ["https://app.example.com/callback", "form-action 'self' https:;"],
    ["http://localhost:3000/callback", "form-action 'self' https: http://localhost:3000;"],
    ["http://[::1]:3000/callback", "form-action 'self' https: http:;"],
    ["com.example.app:/callback", "form-action 'self' https: com.example.app:;"],
  ])("form-action allows the target of the form: %s, %s", async (target, expected) => {
    expect(await policy(target)).toContain(expected);
  });
});

it("RFC 9700 §4.12: redirects with 303 and sets each cookie", () => {
  const response = redirect("/next", ["a=1", undefined, "b=2"]);
  expect(response.status).toBe(303);
  expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
});
