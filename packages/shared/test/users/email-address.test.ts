import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import { expect, it } from "vitest";

it.each([
  ["alice@example.com", "alice@example.com", "alice@example.com"],
  [" Alice.B+tag@Example.COM ", "alice.b+tag@example.com", "Alice.B+tag@example.com"],
  ["alice@BÜCHER.example", "alice@xn--bcher-kva.example", "alice@xn--bcher-kva.example"],
  // NFC: the same letter, composed and decomposed.
  ["alice@bu\u0308cher.example", "alice@xn--bcher-kva.example", "alice@xn--bcher-kva.example"],
  ["alice@xn--bcher-kva.example", "alice@xn--bcher-kva.example", "alice@xn--bcher-kva.example"],
  [
    "a!#$%&'*+/=?^_`{|}~-b@sub.example.co.uk",
    "a!#$%&'*+/=?^_`{|}~-b@sub.example.co.uk",
    "a!#$%&'*+/=?^_`{|}~-b@sub.example.co.uk",
  ],
])("%s is compared as %s", (text, key, address) => {
  expect(parseEmailAddress(text)).toEqual({ key, address });
});

it.each([
  ["", "nothing"],
  ["alice", "no domain"],
  ["@example.com", "no local part"],
  ["alice@", "no domain"],
  ["alice@bob@example.com", "two signs"],
  ['"alice"@example.com', "RFC 5321 Quoted-string"],
  ["alice..b@example.com", "an empty atom"],
  [".alice@example.com", "an empty atom"],
  ["al ice@example.com", "white space"],
  ["alıce@example.com", "a local part that is not ASCII"],
  ["alice@[192.0.2.1]", "an address literal"],
  ["alice@192.0.2.1", "an address"],
  ["alice@localhost", "one label"],
  ["alice@example..com", "an empty label"],
  ["alice@-example.com", "a label that begins with a hyphen"],
  ["alice@exa%6dple.com", "an encoded character"],
  ["alice@example.com/path", "a path"],
  ["alice@example.com:25", "a port"],
  ["alice@evil.example\r\nBcc: x", "two lines"],
  [`${"a".repeat(65)}@example.com`, "RFC 5321 §4.5.3.1.1: a local part of 65 octets"],
  [`a@${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}.${"e".repeat(60)}.${"f".repeat(10)}`, "255 octets"],
])("%s is no address: %s", (text) => {
  expect(parseEmailAddress(text)).toBeUndefined();
});
