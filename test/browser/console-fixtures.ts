import type { BrowserContext, Page } from "playwright-core";
import { totpCode, totpStep } from "../../packages/op-auth/src/factors/totp.ts";
import { decodeBase32 } from "../../packages/protocol/src/encoding/bytes.ts";
import { type BrowserFixtures, person } from "./browser-fixtures.ts";

/** The console's scopes: those of the client `console`. */
export const consoleScopes = [
  ...["admin:clients", "admin:issuers", "admin:users"],
  ...["admin:keys", "admin:shards", "admin:audit"],
];

interface Options {
  readonly origin?: string;
  readonly hasScripts?: boolean;
  /** The page to which the person signs in. */
  readonly path?: string;
  /** What is done between the creation of the person and their sign-in. */
  join?(): Promise<unknown>;
}

/** Creates an administrator with these permissions, who signs in to the console with a new authenticator app. */
export async function signInToConsole(
  { admin, provider }: Pick<BrowserFixtures, "admin" | "provider">,
  context: BrowserContext,
  username: string,
  permissions: readonly string[],
  { origin = provider.origin, hasScripts = true, path = "/console", join }: Options = {},
): Promise<Page> {
  const { password } = person;
  await admin.require("PUT", `/roles/role-${username}`, { permissions });
  const claims = { name: `${username} Example` };
  await admin.require("POST", "/users", { sub: username, username, password, claims, roles: [`role-${username}`] });
  await join?.();
  const page = await context.newPage();
  await page.goto(`${origin}${path}`);
  await page.fill("#username", username);
  await page.fill("#password", password);
  await page.click("#sign-in");
  await page.waitForSelector("#key");
  const key = decodeBase32((await page.textContent("#key")) ?? "")!;
  await page.fill("#code", await totpCode(key, totpStep(Date.now())));
  // With scripts, the field submits itself.
  if (!hasScripts) await page.click("#add-app");
  await page.waitForSelector("#codes");
  await page.click("#later");
  await page.waitForSelector("#sign-out");
  return page;
}
