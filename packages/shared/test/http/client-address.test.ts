import { readSettings } from "@edge-op/shared/config/settings";
import { clientAddress } from "@edge-op/shared/http/client-address";
import { describe, expect, it } from "vitest";

interface Deployment {
  readonly colo?: string;
  readonly trusted?: boolean;
}

function addressOf(
  headers: Readonly<Record<string, string>>,
  { colo, trusted = false }: Deployment,
): string | undefined {
  const settings = readSettings({ ISSUER: "https://op.example.com", TRUST_FORWARDED_HEADERS: String(trusted) });
  const cf = colo === undefined ? undefined : { colo };
  return clientAddress({ cf, settings }, new Request("https://op.example.com/", { headers }));
}

describe("requests that are counted together", () => {
  it.each([
    ["192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8:1:2::6", "2001:db8:1:2"],
    ["2001:db8::6", "2001:db8:0:0"],
    ["2001:db8::1:2:3:6", "2001:db8:0:0"],
    ["::1", "0:0:0:0"],
  ])("RFC 4291 §2.2: %s is of %s", (address, network) => {
    expect(addressOf({ "cf-connecting-ip": address }, { colo: "CDG" })).toBe(network);
  });

  it("the address that Cloudflare reports takes precedence", () => {
    const headers = { "cf-connecting-ip": "192.0.2.1", "x-forwarded-for": "192.0.2.2" };
    expect(addressOf(headers, { colo: "CDG" })).toBe("192.0.2.1");
    expect(addressOf(headers, { colo: "CDG", trusted: true })).toBe("192.0.2.1");
  });

  it("RFC 7239 §8.1: for a trusted proxy, the last entry, which it wrote itself", () => {
    expect(addressOf({ "x-forwarded-for": "203.0.113.9, 192.0.2.2" }, { trusted: true })).toBe("192.0.2.2");
    expect(addressOf({ "cf-connecting-ip": "192.0.2.1" }, { trusted: true })).toBe("192.0.2.1");
    expect(addressOf({}, { trusted: true })).toBeUndefined();
  });

  it("RFC 7239 §8.1: otherwise, headers are ignored because anyone may send them", () => {
    expect(addressOf({ "cf-connecting-ip": "192.0.2.1", "x-forwarded-for": "192.0.2.2" }, {})).toBeUndefined();
  });
});
