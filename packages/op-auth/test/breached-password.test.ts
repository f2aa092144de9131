/** **Passwords of data breaches**: what the list is asked, and what a person is told. */

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import { authEnv, locationOf, password, useDeployment } from "./fixtures/auth-fixtures.ts";

const chosen = "purple monkey dishwasher 42";
/** SHA-1 of it, of which the first five characters are sent. */
const [prefix, suffix] = ["F3CB4", "68C4BF20B3F4042C92AE39A22DDB859AAF6"];

const env = { ...authEnv, PASSWORD_BREACH: "pwned-passwords" } as AuthEnv;
const { browser } = useDeployment({}, { env });
const asked: [string, HeadersInit | undefined][] = [];

beforeEach(async () => {
  asked.length = 0;
  await browser.signIn(locationOf(await browser.get("/account/password")));
});

function respond(response: () => Response | Promise<Response>): void {
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
    asked.push([String(url), init?.headers]);
    return response();
  });
}

const change = (fields: Readonly<Record<string, string>> = {}) =>
  browser.submit("/account/password", { current: password, new: chosen, repeat: chosen, ...fields });

describe("NIST SP 800-63B-4 §3.1.1.2: a new password that is among those of data breaches", () => {
  it("is refused with its reason; the list is sent five characters of its hash", async () => {
    respond(() => new Response(`0018A45C4D1DEF81644B54AB7F969B88D65:0\r\n${suffix}:3\r\n`));
    const response = await change();
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("in lists that were stolen elsewhere");
    expect(asked).toEqual([[`https://api.pwnedpasswords.com/range/${prefix}`, { "Add-Padding": "true" }]]);
  });

  it("is not asked about if another rule refuses it", async () => {
    respond(() => new Response(""));
    expect((await change({ new: "short", repeat: "short" })).status).toBe(400);
    expect(asked).toEqual([]);
  });

  it.each<[string, () => Response | Promise<Response>]>([
    ["without it", () => new Response(`${suffix.replace("6", "7")}:3`)],
    ["with it as padding", () => new Response(`${suffix}:0`)],
    ["that is unavailable", () => new Response("", { status: 503 })],
    ["that is not reached", () => Promise.reject(new TypeError("connection lost"))],
    ["that is endless", () => new Response("0:1\n".repeat(60_000))],
  ])("a list %s: the password is accepted", async (_, response) => {
    respond(response);
    expect(locationOf(await change())).toMatch(/^\/account\/security\?notice=password-changed/);
    expect(asked).toHaveLength(1);
  });
});
