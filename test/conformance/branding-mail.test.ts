import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { Mailbox } from "../../packages/edge-op/src/mailbox.ts";
import { AdminApi } from "../../packages/edge-op/src/provider-api.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";

let mailbox: Mailbox;
let provider: LocalProvider;
let admin: AdminApi;

beforeAll(async () => {
  mailbox = await Mailbox.start();
  const vars = { ...mailbox.variables("branding"), SIGN_UP: "invitation" };
  provider = await startLocalProvider({ shape: inject("shape"), vars });
  admin = new AdminApi(provider.origin, provider.admin);
});
afterAll(async () => {
  await provider.stop();
  mailbox.close();
});

test("a mail has the branding in force: colours, corners and text of the record, and those of the settings after it", async () => {
  const invited = async (email: string) => {
    await admin.require("POST", "/invitations", { email });
    const [mail] = await mailbox.wait("branding", email, 0, 20_000);
    return mail!;
  };
  const texts = { mail_footer: { en: "Acme Ltd, Springfield" } };
  const branding = { brand_color: "#00695c", corner_radius: 0, logo_url: "https://acme.example/l.png", texts };
  await admin.require("PUT", "/branding/current", branding);
  const { html, text } = await invited("branded@example.com");
  expect(html).toContain("background:#00695c");
  expect(html).toContain('<img src="https://acme.example/l.png"');
  expect(new Set(html.match(/border-radius:\d+px/g))).toEqual(new Set(["border-radius:0px"]));
  expect(text.trimEnd().endsWith("Acme Ltd, Springfield")).toBe(true);
  await admin.call("DELETE", "/branding/current");
  const after = await invited("plain@example.com");
  expect(after.html).toContain("background:#1f5fd6");
  expect(after.text).not.toContain("Acme");
});
