/** **Authorization details in words**: nothing that is requested is left out (RFC 9396 §12). */

import { readSettings } from "@edge-op/shared/config/settings";
import { describe, expect, it } from "vitest";
import { describeDetails } from "../src/consent/describe-details.ts";
import { authCatalog } from "../src/pages/messages.ts";

const schema = {
  properties: {
    to: { title: "Payee", "title#de": "Empfänger", "title#zh-CN": "收款人" },
    transfers: { title: "Transfer", items: { properties: { to: { title: "Payee" } } } },
  },
};

/** The lines of an object, as `label: value`. */
async function lines(members: Readonly<Record<string, unknown>>, language = "en"): Promise<string[]> {
  const settings = readSettings({
    ISSUER: "https://op.example.com",
    AUTHORIZATION_DETAILS_TYPES: JSON.stringify({ payment: { description: "Pay", schema } }),
  });
  const [described] = describeDetails(settings, await authCatalog.translatorFor(language), [
    { type: "payment", ...members },
  ]);
  return described!.members.map(({ label, value }) => `${label}: ${value}`.replaceAll("\u00a0", " "));
}

describe("RFC 9396 §2: an amount", () => {
  it.each<[string, unknown, string, string]>([
    ["of cents", { currency: "EUR", amount: "1234567.50" }, "EUR 1,234,567.50", "1.234.567,50 EUR"],
    ["named otherwise, in another order", { value: "5.00", currency: "USD" }, "USD 5.00", "5,00 USD"],
    ["without a fraction", { currency: "JPY", amount: "100" }, "JPY 100", "100 JPY"],
    ["of more digits than are usual", { currency: "EUR", amount: "0.12345" }, "EUR 0.12345", "0,12345 EUR"],
    ["below zero", { currency: "CHF", amount: "-1.00" }, "-CHF 1.00", "-1,00 CHF"],
    [
      "of more digits than a number has",
      { currency: "EUR", amount: "999999999999999.99" },
      "EUR 999,999,999,999,999.99",
      "999.999.999.999.999,99 EUR",
    ],
  ])("%s is shown as people write it, with every digit", async (_, amount, english, german) => {
    expect(await lines({ amount })).toEqual([`Amount: ${english}`]);
    expect(await lines({ amount }, "de")).toEqual([`Amount: ${german}`]);
    expect((await lines({ amount }, "ar")).join()).not.toContain("\\u");
  });

  it.each<[string, unknown, string[]]>([
    [
      "with a further member",
      { currency: "EUR", amount: "1.00", tip: "9.00" },
      ["Amount: currency: EUR", "Amount: amount: 1.00", "Amount: tip: 9.00"],
    ],
    ["that is no decimal number", { currency: "EUR", amount: "1e9" }, ["Amount: currency: EUR", "Amount: amount: 1e9"]],
    ["of no currency", { currency: "euro", amount: "1.00" }, ["Amount: currency: euro", "Amount: amount: 1.00"]],
    ["that is a number", { currency: "EUR", amount: 1.5 }, ["Amount: currency: EUR", "Amount: amount: 1.5"]],
  ])("%s is shown member by member", async (_, amount, expected) => {
    expect(await lines({ amount })).toEqual(expected);
  });
});

describe("RFC 9396 §12: every member is shown", () => {
  it("in lists of objects, numbered, with the labels of their schema", async () => {
    const transfers = [
      { to: "Anna", amount: { currency: "EUR", amount: "1.00" } },
      { to: "Ben", amount: { currency: "EUR", amount: "2.00" } },
    ];
    expect(await lines({ to: "Anna", transfers })).toEqual([
      "Payee: Anna",
      "Transfer 1: Payee: Anna",
      "Transfer 1: amount: EUR 1.00",
      "Transfer 2: Payee: Ben",
      "Transfer 2: amount: EUR 2.00",
    ]);
    expect(await lines({ to: "Anna" }, "de")).toEqual(["Empfänger: Anna"]);
    expect(await lines({ to: "Anna" }, "zh-Hans")).toEqual(["收款人: Anna"]);
  });

  it("also deeper ones, and characters that would hide others are shown as code points", async () => {
    expect(await lines({ a: { b: { c: { d: 1 } } } })).toEqual(['A: b: c: {"d":1}']);
    expect(await lines({ a: ["x", ["y", "z"]], b: "\u202eevil" })).toEqual(["A: x, y, z", "B: \\u202eevil"]);
  });
});
