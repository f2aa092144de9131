import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { demoUsers } from "../../examples/application/src/demo.ts";
import { Activity } from "../../packages/edge-op/src/dev/activity.ts";
import { adviceFor, DevelopmentRun, type Registered } from "../../packages/edge-op/src/dev/run-development.ts";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { AdminApi, basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { SettingError, settingsFrom } from "../../packages/edge-op/src/settings-variables.ts";
import { sourceBuilds } from "../../packages/edge-op/src/source-builds.ts";
import { textOf } from "../../packages/edge-op/testing/person.ts";

/** The pages of `npm start` and `edge-op dev`. */
const host = "127.0.0.1";
const seed = {
  clients: { notes: { metadata: { redirect_uris: ["http://localhost:3000/callback"] } } },
  users: { carol: { password: "several uncommon words" } },
  roles: {},
  resources: {},
};

async function run(more: Partial<ConstructorParameters<typeof DevelopmentRun>[1]> = {}) {
  const [port, demoPort] = [await findFreePort(host), await findFreePort(host)];
  const options = { port, demoPort, host, shape: "compact", onProgress: () => undefined } as const;
  const development = new DevelopmentRun(sourceBuilds, { ...options, ...more });
  const { registered } = await development.start();
  return { development, registered, port, origin: `http://localhost:${port}` };
}

let development: DevelopmentRun;
let registered: Registered;
let origin: string;
let port: number;

beforeAll(async () => {
  ({ development, registered, origin, port } = await run({ vars: { REQUEST_LOG_PERCENT: "100" } }));
}, 60_000);
afterAll(() => development.stop());

const asBrowser = { headers: { accept: "text/html" } };

/** A request with headers that `fetch` does not send. */
function send(path: string, headers: Readonly<Record<string, string>>, method = "GET") {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string; headers: object }>();
  const sent = request({ host, port, path, method, headers: { accept: "text/html", ...headers } }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (part: string) => (text += part));
    response.on("end", () => resolve({ status: response.statusCode!, text, headers: response.headers }));
  });
  sent.on("error", reject).end();
  return promise;
}

function authorizeUrl(redirectUri: string): string {
  const parameters = { client_id: "demo-app", response_type: "code", redirect_uri: redirectUri, scope: "openid" };
  return `${origin}/authorize?${new URLSearchParams(parameters)}`;
}

test("RFC 9700 §4.1.3: the page of an unregistered redirect URI shows what was sent, what is registered, and the client", async () => {
  const response = await fetch(authorizeUrl('https://evil.example/<img src=x>"'), asBrowser);
  const html = await response.text();
  expect(response.status).toBe(400);
  const page = textOf(html);
  expect(page).toContain("demo-app");
  expect(page).toContain(String(registered.clients["app"]!.redirect_uris![0]));
  expect(page).toContain("Add the URI to redirect_uris of the client");
  expect(html).toContain("https://evil.example/&#60;img src=x&#62;&#34;");
  expect(html).not.toContain("<img src=x>");
});

test("/dev/refusals explains a request by its id: reason, cause, mend", async () => {
  const { client_id, client_secret, redirect_uris } = registered.clients["app"]!;
  const authorization = basicAuthorization({ client_id, client_secret });
  const form = {
    grant_type: "authorization_code",
    code: "x",
    redirect_uri: redirect_uris![0]!,
    code_verifier: "short",
  };
  const refused = await postForm(`${origin}/token`, form, { authorization });
  const id = refused.headers.get("request-id")!;
  let page = "";
  while (!page.includes(id)) page = await (await fetch(`${origin}/dev/refusals`)).text();
  const article = textOf(page.slice(page.indexOf(`<article id="${id}"`)));
  for (const text of ["POST /token", "demo-app", "verifier-malformed", "Send 43 to 128 of the characters"]) {
    expect(article).toContain(text);
  }
});

test("the panel at / shows clients, users with the demo's passwords, and the last requests and refusals", async () => {
  await fetch(authorizeUrl("https://evil.example/"), asBrowser);
  const page = textOf(await (await fetch(`${origin}/`, asBrowser)).text());
  for (const text of [
    ...["demo-app", "demo-service", "alice", demoUsers.alice.password, demoUsers.bob.password],
    ...["GET /authorize", "redirect-uri-not-registered"],
  ]) {
    expect(page).toContain(text);
  }
  for (const { client_secret: secret } of Object.values(registered.clients)) {
    if (secret !== "") expect(page).not.toContain(secret);
  }
  // Everything else is the provider's.
  expect((await fetch(`${origin}/`, { headers: { accept: "application/json" } })).status).toBe(404);
});

test("/dev/look shows the provider's pages with another name, logo and colours, in this browser alone", async () => {
  const chosen = new URLSearchParams({
    ...{ DISPLAY_NAME: "Acme <b>", LOGO_URL: "https://acme.example/logo.svg" },
    ...{ BRAND_COLOR: "#ff0000", BACKGROUND_COLOR: "#000000" },
  });
  const tried = await fetch(`${origin}/dev/look?${chosen}`, asBrowser);
  const [cookie = ""] = tried.headers.get("set-cookie")!.split(";");
  const page = await (await fetch(`${origin}/logout`, { headers: { accept: "text/html", cookie } })).text();
  expect(page).toContain('<img src="https://acme.example/logo.svg" alt="" height="32"');
  expect(page).toContain("<span>Acme &lt;b&gt;</span>");
  const href = /rel="stylesheet" href="([^"]+)"/.exec(page)![1]!.replaceAll("&amp;", "&");
  const style = await fetch(`${origin}${href}`);
  expect(style.headers.get("content-type")).toBe("text/css; charset=utf-8");
  expect(await style.text()).toContain("--brand: #ff0000;");
  expect(await (await fetch(`${origin}/logout`, asBrowser)).text()).toContain('href="/assets/style.css?v=');

  const wrong = await fetch(`${origin}/dev/look?BACKGROUND_COLOR=red`, asBrowser);
  expect(textOf(await wrong.text())).toContain("BACKGROUND_COLOR must be a colour like #1f5fd6, not &#34;red&#34;");
  expect(wrong.headers.get("set-cookie")).toContain("Max-Age=0");
});

test("a page that tells of a wrong password, which is no refusal, does not wait for an explanation", async () => {
  const activity = new Activity();
  const line = (event: string, requestId: string) => {
    const message = JSON.stringify({ event, requestId, reason: "client-unknown", status: 400 });
    activity.read({ level: "info", message });
  };
  // Nothing but a line ends the wait.
  vi.useFakeTimers();
  try {
    const [wrong, refused] = [activity.find("wrong"), activity.find("refused")];
    line("request", "wrong");
    line("refused", "refused");
    line("request", "refused");
    expect([await wrong, (await refused)?.reason]).toEqual([undefined, "client-unknown"]);
  } finally {
    vi.useRealTimers();
  }
});

describe.each(["/", "/dev/refusals", "/dev/look", "/dev/explanation?request=x"])("%s", (path) => {
  test.each(["evil.example", `evil.example:1`, "localhost.evil.example", "op.example.com"])(
    "a request for the host %s is refused: DNS rebinding",
    async (name) => {
      const { status, text } = await send(path, { host: name });
      // The panel's path is that of the provider's start page, which leads to its own host.
      expect([status, text.includes("alice")]).toEqual([path === "/" ? 302 : 421, false]);
    },
  );

  test("no other origin may read or frame it, and only GET is allowed", async () => {
    const foreign = { host: `localhost:${port}`, origin: "https://evil.example" };
    const { headers } = await send(path, foreign);
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
    expect(headers).toMatchObject({
      "cross-origin-resource-policy": "same-origin",
      "x-frame-options": "DENY",
      "cache-control": "no-store",
    });
    if (path === "/") return;
    for (const method of ["POST", "OPTIONS", "DELETE"]) expect((await send(path, foreign, method)).status).toBe(405);
  });
});

test("passwords of a seed file are not shown, and on other addresses than loopback there are no pages", async () => {
  const own = await run({ seed, host: "127.0.0.1" });
  const page = await (await fetch(`${own.origin}/`, asBrowser)).text();
  expect(page).toContain("carol");
  expect(page).not.toContain("several uncommon words");
  await own.development.stop();
  const open = await run({ seed, host: "0.0.0.0" });
  expect((await fetch(`${open.origin}/dev/refusals`, asBrowser)).status).toBe(404);
  expect(await (await fetch(`${open.origin}/`, asBrowser)).text()).not.toContain("carol");
  await open.development.stop();
}, 60_000);

test("settings of the pages are read from the environment too, and wrong ones are refused by name", async () => {
  expect(settingsFrom({ DISPLAY_NAME: "Acme", SESSION_IDLE: "60", HOME: "/", BRAND_COLOR: "" })).toEqual({
    DISPLAY_NAME: "Acme",
    SESSION_IDLE: "60",
  });
  expect(() => settingsFrom({ BRAND_COLOR: "red" })).toThrow(
    new SettingError('BRAND_COLOR must be a colour like #1f5fd6, not "red"'),
  );
});

test("/dev/mailbox shows the mail that tells a person of a change, and its HTML without scripts", async () => {
  const admin = new AdminApi(origin, registered.admin);
  const claims = { email: "mina@example.com", email_verified: true, locale: "de" };
  const user = { username: "mina", password: "several uncommon words", claims };
  const { sub } = await admin.require("POST", "/users", user);
  await admin.require("PATCH", `/users/${String(sub)}`, { password: "other quite uncommon words" });
  const read = async () => textOf(await (await fetch(`${origin}/dev/mailbox`, asBrowser)).text());
  await expect.poll(read, { timeout: 10_000 }).toContain("mina@example.com");
  const page = await (await fetch(`${origin}/dev/mailbox`, asBrowser)).text();
  expect(textOf(page)).toContain("Ein Administrator hat ein neues Passwort für Sie festgelegt");
  const others = await fetch(`${origin}/dev/mailbox?to=nobody%40example.com`, asBrowser);
  expect(textOf(await others.text())).not.toContain("mina@example.com");
  const hers = await fetch(`${origin}/dev/mailbox?to=mina%40example.com`, asBrowser);
  expect(textOf(await hers.text())).toContain("Ein Administrator hat ein neues Passwort für Sie festgelegt");
  const [, link = ""] = /href="(\/dev\/mail\?id=[^"]+)"/.exec(page) ?? [];
  const html = await fetch(new URL(link.replaceAll("&#38;", "&"), origin));
  expect(html.headers.get("content-security-policy")).toContain("sandbox; default-src 'none'");
  expect(await html.text()).toContain('<html lang="de" dir="ltr">');
  expect((await fetch(`${origin}/dev/mail?id=unknown`)).status).toBe(404);
});

test("a state of an earlier edition of the migrations is refused with the command that begins anew, and stays as it is", async () => {
  const stateDir = mkdtempSync(join(tmpdir(), "outdated-state-"));
  const first = await run({ seed, stateDir });
  await first.development.stop();
  const edited = {
    ...sourceBuilds,
    migrations: async (database: "DB" | "AUDIT_DB") =>
      (await sourceBuilds.migrations(database)).map(({ name, statements }) => ({
        name,
        statements: statements.map((sql) =>
          sql.replace(/CREATE TABLE consents \(/, "CREATE TABLE consents (\n  shoe_size INTEGER,"),
        ),
      })),
  };
  const options = { port: await findFreePort(host), demoPort: await findFreePort(host), host, seed, stateDir } as const;
  const second = new DevelopmentRun(edited, { ...options, shape: "compact", onProgress: () => undefined });
  const error = await second.start().then(
    () => undefined,
    (cause: unknown) => cause,
  );
  await second.stop();
  expect(adviceFor(error, { otherPort: "", anew: "npm start -- --reset" })).toContain("npm start -- --reset");
  const third = await run({ seed, stateDir });
  expect(third.registered.users).toEqual(first.registered.users);
  await third.development.stop();
  rmSync(stateDir, { recursive: true });
}, 90_000);
