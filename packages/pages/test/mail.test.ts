import { type Asker, describeDevice, placeOf } from "@edge-op/shared/http/asker";
import { type NoticeKind, noticeKinds } from "@edge-op/shared/mail/mail-sender-rpc";
import { describe, expect, it } from "vitest";
import { contrast } from "../src/brand-colors.ts";
import { brandingWith, readBranding } from "../src/branding.ts";
import { type AccountMail, type CodeMailKind, codeMailKinds, renderAccountMail } from "../src/mail/codes.ts";
import { linesOfHtml } from "./fixtures/lines-of-html.ts";
import { notices } from "./fixtures/notice-texts.ts";

const issuer = "https://op.example.com";
const frameWith = (variables: Parameters<typeof readBranding>[0] = {}) => ({
  ...{ issuer, deletionGraceDays: 14 },
  branding: readBranding({ DISPLAY_NAME: "Acme & Söhne", ...variables }),
});
const frame = frameWith();
const atMs = Date.parse("2026-11-23T15:30:00Z");
const asker: Asker = { device: "Firefox · Windows", city: "Köln", country: "DE", timeZone: "Europe/Berlin" };
const undoPath = "/account/address/undo?undo=abc";

describe.each(noticeKinds)("a notice of %s", (kind) => {
  const [path, ...texts] = notices[kind];
  const isOfPerson = !kind.endsWith("-by-administrator") && kind !== "invitation";

  it.each([
    ["en", 0, "23 Nov 2026, 16:30 CET", "Time: ", "Device: Firefox · Windows\nPlace: Köln, Germany (estimated)\n"],
    ["en-US", 0, "Nov 23, 2026, 04:30 PM GMT+1", "Time: ", "Place: Köln, Germany (estimated)\n"],
    [
      "de-AT",
      1,
      "23. Nov. 2026, 16:30 MEZ",
      "Zeit: ",
      "Gerät: Firefox · Windows\nOrt: Köln, Deutschland (geschätzt)\n",
    ],
  ] as const)(
    "in %s: subject, time, browser and place, advice, and one link to where it is followed",
    async (locale, at, time, label, who) => {
      const { subject, text } = await renderAccountMail(
        { kind, atMs, locale, zoneinfo: "Europe/Berlin", asker },
        frame,
      );
      const [title, advice] = texts[at]!;
      expect(subject).toBe(title);
      expect(text).toContain(advice);
      expect(text.normalize("NFKC")).toContain(kind === "invitation" ? time : `${label}${time}`);
      expect(text.includes(who)).toBe(isOfPerson);
      expect([...text.matchAll(/https:\S+/g)].map(([url]) => url.slice(issuer.length))).toEqual(
        path === "" ? [""] : [path, ""],
      );
    },
  );

  it("that the previous release prepared, without a browser, names none", async () => {
    const { text } = await renderAccountMail({ kind, atMs, locale: "en" }, frame);
    expect(text).toContain(texts[0]![1]);
    expect(text).not.toMatch(/Device:|Place:/);
    expect(text.normalize("NFKC")).toContain("23 Nov 2026, 15:30 UTC");
  });
});

it("what an administrator did in the place of the person says so, and names no browser", async () => {
  const { text } = await renderAccountMail({ kind: "identity-unlinked", atMs, asker, isByAdministrator: true }, frame);
  expect(text).toContain("ask your administrator");
  expect(text).not.toMatch(/Device:|Was this not you|If this was you/);
});

const codes: Readonly<Record<CodeMailKind, readonly [en: string, de: string, namesAsker: boolean]>> = {
  recover: ["Your code for a new password", "Ihr Code für ein neues Passwort", true],
  address: ["Your code to confirm this email address", "Ihr Code, um diese E-Mail-Adresse zu bestätigen", false],
  "sign-up": ["Your code for your new account", "Ihr Code für Ihr neues Konto", false],
  "sign-in": ["Your code to sign in", "Ihr Code für die Anmeldung", true],
  "account-exists": ["You already have an account", "Sie haben bereits ein Konto", false],
  "address-in-use": [
    "Your email address was entered for another account",
    "Ihre E-Mail-Adresse wurde für ein anderes Konto angegeben",
    false,
  ],
};

describe.each(codeMailKinds)("a mail of a code, %s", (kind) => {
  const code = kind === "address-in-use" ? undefined : "01234567";
  const [en, de, namesAsker] = codes[kind];

  it.each([
    ["en", en, "Device: Firefox · Windows\nPlace: Köln, Germany (estimated)\n", "not even by telephone"],
    ["de", de, "Gerät: Firefox · Windows\nOrt: Köln, Deutschland (geschätzt)\n", "auch nicht am Telefon"],
  ])(
    "in %s: the code in subject and text, who asked for it where an account is at stake, and no link to open",
    async (locale, title, who, secrecy) => {
      const { subject, text, html } = await renderAccountMail({ kind, code, atMs, locale, asker }, frame);
      expect(subject).toBe(code === undefined ? title : `0123 4567 – ${title}`);
      expect(text.includes("0123 4567")).toBe(code !== undefined);
      expect(text.includes(who)).toBe(namesAsker);
      expect(text).toContain(secrecy);
      expect(html).not.toMatch(/<a |<script|<img|<form/);
    },
  );
});

const mails: readonly AccountMail[] = [
  ...noticeKinds.map((kind) => ({ kind, atMs, asker })),
  ...noticeKinds.map((kind) => ({ kind, atMs, asker, undoPath })),
  ...codeMailKinds.map((kind) => ({ kind, atMs, asker, code: "01234567" })),
];

describe.each(["en", "de"])("every mail in %s", (locale) => {
  it("has the same content as text and as HTML, and no value that is missing", async () => {
    const supported = frameWith({ SUPPORT_URL: "https://help.example.com/?a=1&b=2" });
    for (const mail of mails) {
      const { subject, text, html } = await renderAccountMail({ ...mail, locale }, supported);
      const [brand, heading, ...lines] = linesOfHtml(html);
      expect(brand).toBe("Acme & Söhne");
      expect(subject.endsWith(heading!)).toBe(true);
      expect(lines).toEqual(text.split("\n").filter(Boolean));
      expect(text).not.toMatch(/\{\w+|undefined/);
    }
  });

  it("has no link but to the issuer, loads nothing, and says its language", async () => {
    for (const mail of mails) {
      const { text, html } = await renderAccountMail({ ...mail, locale }, frame);
      const links = [...`${text}${html}`.matchAll(/https?:\/\/[^\s"<]+/g)].map(([link]) => new URL(link).origin);
      expect(new Set(links)).toEqual(new Set([issuer]));
      expect(html).toContain(`<html lang="${locale}" dir="ltr">`);
      expect(html).not.toMatch(/<script|<img|<form|url\(/);
    }
  });
});

describe("links that undo", () => {
  it.each<[NoticeKind, string]>([
    ["address-changed", "This was your address before."],
    ["app-added", "Undo it, and everything that was changed after it, within seven days."],
    ["address-changed-by-administrator", "ask your administrator"],
  ])("%s: the link that takes it back comes first, and says what it does", async (kind, says) => {
    const { text } = await renderAccountMail({ kind, atMs, undoPath }, frame);
    expect(text).toContain(says);
    expect(text).toContain(`Undo the change:\n${issuer}${undoPath}`);
    expect(text.indexOf(undoPath)).toBeLessThan(text.indexOf(`${issuer}${notices[kind][0]}\n`));
  });

  it("a changed address says that the username stays", async () => {
    expect((await renderAccountMail({ kind: "address-changed", atMs, undoPath }, frame)).text).toContain(
      "Your username stays",
    );
  });

  it("an administrator's link leads to the issuer; other addresses are told without it", async () => {
    const path = "/account/password/reset?token=abc";
    const { text } = await renderAccountMail({ kind: "reset-link-by-administrator", atMs, undoPath: path }, frame);
    expect(text).toContain(`Set a new password:\n${issuer}${path}`);
    const { text: told } = await renderAccountMail({ kind: "reset-link-by-administrator", atMs }, frame);
    expect([told.includes("/reset"), told.includes("ask your administrator")]).toEqual([false, true]);
  });
});

describe("text of others", () => {
  it.each([
    "Call +1 555 0100 Chrome/1 now",
    "https://evil.example/Firefox/",
    '"><img src=x> Safari/ Windows',
    "Mozilla/5.0 (evil.example) Edg/1\r\nBcc: x@evil.example",
    "evil.example",
  ])("of the User-Agent %j nothing is in a mail but known words", async (userAgent) => {
    const device = describeDevice(userAgent);
    expect(device).toMatch(/^(Edge|Firefox|Chrome|Safari)?( · )?(Windows)?$|^Browser$/);
    const { text, html } = await renderAccountMail({ kind: "new-browser", atMs, asker: { device } }, frame);
    expect(`${text}${html}`).not.toMatch(/evil|555|onerror|<img|Bcc/);
    expect(text).toContain(`Device: ${device === "Browser" ? "unknown" : device}\n`);
  });

  it.each([
    ["Saint-Denis (Île)", "Saint-Denis (Île)"],
    ["St. John’s", "St. John’s"],
    ["https://evil.example", undefined],
    ["x".repeat(101), undefined],
    ["A\nB", undefined],
  ])("the city %j is named as %j", (city, named) => {
    expect(placeOf({ cf: { country: "FR", city } }).city).toBe(named);
  });

  it("a name with markup or lines changes neither the HTML nor the subject", async () => {
    const name = '<img src=x onerror=alert(1)>"\r\nBcc: x@evil.example';
    const { subject, html } = await renderAccountMail({ kind: "invitation", atMs }, frameWith({ DISPLAY_NAME: name }));
    expect(subject).toBe('You are invited to <img src=x onerror=alert(1)>" Bcc: x@evil.example');
    expect(html).not.toContain("<img");
  });
});

describe("the person’s zone and locale", () => {
  it.each([
    [{ locale: "en", zoneinfo: "Asia/Tokyo" }, "24 Nov 2026, 00:30 GMT+9"],
    [{ locale: "en-US", zoneinfo: "America/New_York" }, "Nov 23, 2026, 10:30 AM EST"],
    [{ locale: "sv-SE", zoneinfo: "nowhere" }, "23 Nov 2026, 16:30 CET"],
    [{ locale: "en-!", zoneinfo: undefined }, "23 Nov 2026, 16:30 CET"],
  ])("%j: %s", async (claims, time) => {
    const { text } = await renderAccountMail({ kind: "new-browser", atMs, asker, ...claims }, frame);
    expect(text.normalize("NFKC")).toContain(`Time: ${time}\n`);
  });
});

describe("the brand", () => {
  const htmlWith = async (variables: Parameters<typeof readBranding>[0]) =>
    (await renderAccountMail({ kind: "passkey-added", atMs }, frameWith(variables))).html;

  it("a logo is shown if it is an https: URL; programs for mail show no data: image", async () => {
    expect(await htmlWith({ LOGO_URL: "https://acme.example/logo.png" })).toContain(
      '<img src="https://acme.example/logo.png"',
    );
    expect(await htmlWith({ LOGO_URL: "data:image/png;base64,AAAA" })).not.toContain("<img");
  });

  it("a logo for dark schemes replaces the other one there, and only if programs can show it", async () => {
    const logos = { LOGO_URL: "https://acme.example/l.png", LOGO_URL_DARK: "https://acme.example/d.png" };
    const html = await htmlWith(logos);
    expect(html).toMatch(/<img src="https:\/\/acme.example\/l.png"[^>]* class="on-light" style="height/);
    expect(html).toMatch(/<img src="https:\/\/acme.example\/d.png"[^>]* class="on-dark" style="display:none;/);
    const dark = html.slice(html.indexOf("prefers-color-scheme: dark"), html.indexOf("</style>"));
    expect(dark).toContain(".on-light { display: none !important; }");
    expect(dark).toContain(".on-dark { display: inline !important; }");
    const data = await htmlWith({ ...logos, LOGO_URL_DARK: "data:image/png;base64,AAAA" });
    expect([data.split("<img").length, data.includes("data:")]).toEqual([2, false]);
  });

  it("the corners and the font are those of the pages", async () => {
    const html = await htmlWith({ CORNER_RADIUS: "0", FONT: "serif" });
    expect(new Set(html.match(/border-radius:\d+px/g))).toEqual(new Set(["border-radius:0px"]));
    expect(html).toContain("font-family:Charter,");
    expect(html).not.toMatch(/style="[^"]*system-ui/);
  });

  it.each(["en", "ar"])("a text of the deployment's own ends a mail in its language alone, in %s", async (locale) => {
    const record = { texts: { mail_footer: { en: 'Acme <b>"Ltd"</b>', ar: "شركة أكمي" } } };
    const own = record.texts.mail_footer[locale as "en" | "ar"];
    const branding = brandingWith(frame.branding, record);
    for (const mail of mails) {
      const { text, html } = await renderAccountMail({ ...mail, locale }, { ...frame, branding });
      expect(text.trimEnd().endsWith(`${issuer}\n${own}`)).toBe(true);
      expect(linesOfHtml(html).at(-1)).toBe(own);
      expect((await renderAccountMail({ ...mail, locale: "de" }, { ...frame, branding })).text).not.toMatch(/Ltd|أكمي/);
    }
  });

  it.each(["#ffe600", "#1f5fd6", "#ffffff", "#000000", "#7f7f7f"])(
    "with %s the button is legible, in light and dark",
    async (color) => {
      const html = await htmlWith({ BRAND_COLOR: color });
      const [, ground, text] = /<a [^>]*class="fill" style="[^"]*background:(#\w{6});color:(#\w{6})/.exec(html)!;
      const [, darkGround, darkText] = /\.fill \{ background: (#\w{6}) [^}]*color: (#\w{6}) !important; \}/.exec(html)!;
      expect([ground, darkGround]).toEqual([color, color]);
      for (const [one, other] of [
        [ground, text],
        [darkGround, darkText],
      ]) {
        expect(contrast(one!, other!)).toBeGreaterThanOrEqual(4.5);
      }
      expect(html).toContain('<meta name="color-scheme" content="light dark">');
    },
  );
});
