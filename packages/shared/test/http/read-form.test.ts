import { parseParameters } from "@edge-op/shared/http/read-form";
import { describe, expect, it } from "vitest";

describe("Form.only", () => {
  const form = parseParameters(
    new URLSearchParams("code=c&resource=https://a.example&resource=https://b.example&scope=s"),
  );

  it("has the named parameters, with every value of a repeatable one", () => {
    const reader = form.only(["code", "resource"]);
    expect(reader.require("code")).toBe("c");
    expect(reader.all("resource")).toEqual(["https://a.example", "https://b.example"]);
  });

  it("has no other parameter", () => {
    const reader = form.only<string>(["code", "redirect_uri"]);
    expect(reader.get("scope")).toBeUndefined();
    expect(reader.get("redirect_uri")).toBeUndefined();
    expect(() => reader.require("redirect_uri")).toThrow("redirect_uri missing");
  });
});
