import { noticeKinds } from "@edge-op/shared/mail/mail-sender-rpc";
import { describe, expect, it } from "vitest";
import { renderAccountMail } from "../src/mail/account-mails.ts";
import { codeMailKinds } from "../src/mail/codes.ts";

const branding = { name: "Acme & Söhne", logoUrl: undefined, brandColor: "#1f5fd6" };
const frame = { issuer: "https://op.example.com", branding, deletionGraceDays: 14 };
const atMs = Date.parse("2026-11-23T15:30:00Z");

describe.each(codeMailKinds)("a mail of a code, %s", (kind) => {
  const code = kind === "address-in-use" ? undefined : "01234567";

  it.each(["en", "de"])(
    "in %s: the code stands in the text and not in the subject, and there is no link to open",
    async (locale) => {
      const { subject, text, html } = await renderAccountMail({ kind, code, atMs, locale }, frame);
      expect(subject).not.toMatch(/\d/);
      expect(text.includes("0123 4567")).toBe(code !== undefined);
      expect(html.includes("0123 4567")).toBe(code !== undefined);
      expect(html).not.toMatch(/<a |<script|<img|<form|{\w+}/);
      expect(text).not.toMatch(/{\w+}/);
    },
  );
});

it("the address that another one replaces gets a link that takes the change back", async () => {
  const undoPath = "/account/address/undo?undo=abc";
  const { text, html } = await renderAccountMail({ kind: "address-changed", atMs, undoPath }, frame);
  expect(text).toContain(`https://op.example.com${undoPath}`);
  expect(html).toContain(`href="https://op.example.com${undoPath}"`);
});

it("a mail about something that was added contains the link that takes it back, and says what it does", async () => {
  const undoPath = "/account/address/undo?undo=abc";
  const { text } = await renderAccountMail({ kind: "app-added", atMs, undoPath }, frame);
  expect(text).toContain("Undo it, and everything that was changed after it, within seven days.");
  expect(text).not.toContain("This was your address before.");
  expect(text).toContain(`https://op.example.com${undoPath}`);
});

it("an administrator's link leads to the issuer; other addresses are told without it", async () => {
  const undoPath = "/account/password/reset?token=abc";
  const { text, html } = await renderAccountMail({ kind: "reset-link-by-administrator", atMs, undoPath }, frame);
  expect(text).toContain(`Set a new password:\nhttps://op.example.com${undoPath}`);
  expect(html).toContain(`href="https://op.example.com${undoPath}"`);
  expect(text).not.toContain("previous address");
  const { text: told } = await renderAccountMail({ kind: "reset-link-by-administrator", atMs }, frame);
  expect([told.includes("/reset"), told.includes("ask your administrator")]).toEqual([false, true]);
});

describe.each(noticeKinds)("a notice of %s", (kind) => {
  it.each(["en", "de-AT"])("in %s: the same facts as text and HTML, and no link but to the issuer", async (locale) => {
    const { subject, text, html } = await renderAccountMail({ kind, atMs, locale }, frame);
    expect(subject.length).toBeGreaterThan(10);
    expect(text).toContain(locale === "en" ? "November 23, 2026" : "23. November 2026");
    expect(text.includes("https://op.example.com/account")).toBe(kind !== "deletion-done");
    expect(text).toContain("Acme & Söhne");
    const links = [...`${text}${html}`.matchAll(/https?:\/\/[^\s"<]+/g)].map(([link]) => new URL(link).origin);
    expect(new Set(links)).toEqual(new Set(["https://op.example.com"]));
    expect(html).toContain(`<html lang="${locale.slice(0, 2)}" dir="ltr">`);
    expect(html).toContain("Acme &#38; Söhne");
    expect(html).not.toMatch(/<script|<img|<form|{\w+}/);
    expect(text).not.toMatch(/{\w+}/);
  });
});

it("a name with markup or lines changes neither the HTML nor the subject", async () => {
  const name = '<img src=x onerror=alert(1)>"\r\nBcc: x@evil.example';
  const { subject, html } = await renderAccountMail(
    { kind: "password-changed", atMs },
    { ...frame, branding: { ...branding, name } },
  );
  expect(subject).toBe("Your password was changed");
  expect(html).not.toContain("<img");
});

it("a logo is shown if it is an https: URL; programs for mail show no data: image", async () => {
  const htmlWith = async (logoUrl: string) =>
    (await renderAccountMail({ kind: "passkey-added", atMs }, { ...frame, branding: { ...branding, logoUrl } })).html;
  expect(await htmlWith("https://acme.example/logo.png")).toContain('<img src="https://acme.example/logo.png"');
  expect(await htmlWith("data:image/png;base64,AAAA")).not.toContain("<img");
});
