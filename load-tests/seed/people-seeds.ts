import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { AdminApi } from "../../packages/edge-op/src/provider-api.ts";
import type { PeopleScenario } from "../lib/presets.ts";
import type { Seed } from "../lib/seed-file.ts";
import type { Deployment } from "../lib/start-provider.ts";
import { totpCode } from "../lib/totp-code.ts";
import { Visit, type Visitor } from "../lib/visit.ts";
import type { Recipe } from "./make-seeds.ts";
import { nodeVisitor } from "./node-visitor.ts";
import type { Cast } from "./provision.ts";

const atOnce = 4;
const stepMs = 30_000;
/** The longest time from a code to its arrival. */
const underWayMs = 5_000;

/** **The recipes of seeds for people**, by class: addresses that nobody has, people with a verified address, people with an app. */
export function peopleRecipes(
  scenario: PeopleScenario,
  deployment: Deployment,
  cast: Cast,
): Readonly<Record<string, Recipe>> {
  const admin = new AdminApi(deployment.origin, deployment.admin);
  const nobody: Recipe = { atOnce, make: async () => ({ address: newAddress(), password: newPassword() }) };
  const holder: Recipe = { atOnce, make: () => createHolder(admin) };
  const withApp: Recipe = { atOnce, make: () => createWithApp(admin, deployment.origin, cast) };
  switch (scenario) {
    case "signup":
      return { signup: nobody, wrong_code: nobody, taken: holder };
    case "recover":
      return { recover: holder, wrong_code: holder, unknown: nobody };
    case "login-mfa":
      return { login: withApp, wrong_code: withApp, replayed: withApp };
  }
}

function newAddress(): string {
  return `load-${randomBytes(8).toString("hex")}@example.com`;
}

function newPassword(): string {
  return randomBytes(15).toString("base64url");
}

/** A person with a verified address and no password, so that none is hashed; `password` is the one to choose. */
async function createHolder(admin: AdminApi): Promise<Seed> {
  const address = newAddress();
  const sub = address.slice(0, address.indexOf("@"));
  const claims = { name: "Load Person", email: address, email_verified: true };
  await admin.require("POST", "/users", { sub, username: sub, claims });
  return { sub, address, password: newPassword() };
}

/** A person with a password who sets up an app at the account page. */
async function createWithApp(admin: AdminApi, origin: string, cast: Cast): Promise<Seed> {
  const sub = `load-${randomBytes(8).toString("hex")}`;
  const password = newPassword();
  await admin.require("POST", "/users", { sub, username: sub, password, claims: { name: "Load Person" } });
  const visitor = nodeVisitor(origin);
  const visit = new Visit(visitor, cast.clients.web, 0);
  await visit.redeem(await visit.submit(await visit.begin(), "password", { username: sub, password }));
  return { sub, username: sub, password, appKey: await addApp(visitor, visit) };
}

async function addApp(visitor: Visitor, visit: Visit): Promise<string> {
  const page = await visit.open("/account/apps");
  const appKey = /id="key"[^>]*>([A-Z2-7 ]+)</.exec(page.html)?.[1]?.trim();
  if (appKey === undefined) throw new Error(`the page for an app shows no key: ${page.answer.status}`);
  // The code before the present one is spent, so that the run can use the latter; near the end of a step, after that end.
  const remainingMs = stepMs - (Date.now() % stepMs);
  if (remainingMs < underWayMs) await setTimeout(remainingMs);
  const added = await visit.submit(page, "code", { code: await totpCode(appKey, Date.now() - stepMs) });
  if (added.answer.status !== 200) throw new Error(`the app was refused: ${added.answer.status}`);
  visitor.forget();
  return appKey;
}
