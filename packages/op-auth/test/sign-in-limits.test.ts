import { describe, expect, it } from "vitest";
import { networkOf } from "../src/sign-in/sign-in-limits.ts";

describe("whose attempts are counted together", () => {
  it.each([
    ["192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8:1:2::6", "2001:db8:1:2"],
    ["2001:db8::6", "2001:db8:0:0"],
    ["2001:db8::1:2:3:6", "2001:db8:0:0"],
    ["::1", "0:0:0:0"],
  ])("RFC 4291 §2.2: %s is of %s", (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
