import { env as testEnv } from "cloudflare:workers";
import { formToken } from "@edge-op/pages/form-token";
import { ReceivedRequest } from "@edge-op/shared/http/received-request";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import { sealText } from "@edge-op/shared/secrets/seal";
import { describe, expect, it, vi } from "vitest";
import type { OwnEnv } from "../src/api/console-call.ts";
import { createAppWith } from "../src/app.ts";
import { type ConsoleSession, readSession, sessionCookie } from "../src/session/session.ts";
import { consolePath } from "../src/session/sign-in.ts";

const env = testEnv as unknown as OwnEnv;
const origin = "https://op.example.com";
const execution = { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} };

function contextOf(own: OwnEnv = env): RequestContext<OwnEnv> {
  return createRequestContext(new Request(origin), own, execution);
}

function sessionOf(members: Partial<ConsoleSession> = {}): ConsoleSession {
  const expiresAtMs = Date.now() + 30 * 60_000;
  return {
    ...{ id: "one", token: "a-token", sub: "maria", name: "Maria", expiresAtMs },
    ...{ scopes: ["admin:clients"] },
    ...members,
  };
}

/** The cookie as a browser sends it. */
async function cookieOf(session: ConsoleSession, own: OwnEnv = env): Promise<string> {
  return (await sessionCookie(contextOf(own), session)).split(";")[0]!;
}

function read(cookie: string, own: OwnEnv = env): Promise<ConsoleSession | undefined> {
  return readSession(contextOf(own), new ReceivedRequest(new Request(origin, { headers: { cookie } })));
}

/** The console, and what it has sent to the other Workers. */
function createConsole(
  respond: (request: Request) => Response | Promise<Response> = () => Response.json({}, { status: 404 }),
) {
  const sent: Request[] = [];
  const app = createAppWith<OwnEnv>((_, request) => {
    sent.push(request);
    return respond(request);
  });
  const fetch = async (path: string, init: RequestInit = {}): Promise<Response> =>
    app.fetch(new Request(`${origin}${path}`, { redirect: "manual", ...init }), env, execution);
  return { sent, fetch };
}

function post(cookie: string, form: Readonly<Record<string, string>>): RequestInit {
  return { method: "POST", headers: { cookie }, body: new URLSearchParams(form) };
}

describe("the session is sealed in the cookie", () => {
  it("is read as it was sealed, and its cookie is HttpOnly, Secure, Lax and bound to the host", async () => {
    const session = sessionOf();
    expect(await read(await cookieOf(session))).toEqual(session);
    const cookie = await sessionCookie(contextOf(), session);
    expect(cookie).toMatch(/^__Host-op-console=[\w-]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/);
    expect(cookie).not.toContain("a-token");
  });

  it("a changed, a forged and an empty cookie are no session", async () => {
    const cookie = await cookieOf(sessionOf());
    const forged = btoa(JSON.stringify(sessionOf())).replaceAll("=", "");
    for (const wrong of [`${cookie.slice(0, -2)}xx`, `__Host-op-console=${forged}`, "__Host-op-console=", ""]) {
      expect(await read(wrong), wrong).toBeUndefined();
    }
  });

  it("one of another deployment's key is no session, and one of the previous key still is", async () => {
    const other = { ...env, OP_MASTER_KEY: "ISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0-P0A" };
    const cookie = await cookieOf(sessionOf(), other);
    expect(await read(cookie)).toBeUndefined();
    expect(await read(cookie, { ...env, OP_MASTER_KEY_PREVIOUS: other.OP_MASTER_KEY })).toEqual(
      expect.objectContaining({ sub: "maria" }),
    );
  });

  it("one that has expired is no session, although the browser still sends it", async () => {
    expect(await read(await cookieOf(sessionOf({ expiresAtMs: Date.now() - 1 })))).toBeUndefined();
  });

  it("the sealed state of a sign-in is no session", async () => {
    const state = await sealText(env, "console-seal", JSON.stringify(sessionOf()), { bound: "browser" });
    expect(await read(`__Host-op-console=${state}`)).toBeUndefined();
  });

  it("a token that no browser would keep is an error, not a session that is lost", async () => {
    await expect(sessionCookie(contextOf(), sessionOf({ token: "x".repeat(4000) }))).rejects.toThrow("bytes");
  });
});

describe("a form of another site changes nothing", () => {
  const path = "/console/clients/app/disable";

  it.each([
    ["without a token", async () => ""],
    [
      "with a token of another record's form",
      () => formToken(contextOf(), "console /console/clients/other/disable", "one"),
    ],
    ["with a token of another session", () => formToken(contextOf(), `console ${path}`, "two")],
    ["with a token of a form of op-auth", () => formToken(contextOf(), path, "one")],
  ])("%s", async (_, tokenOf) => {
    const { sent, fetch } = createConsole();
    const response = await fetch(path, post(await cookieOf(sessionOf()), { token: await tokenOf(), step: "confirm" }));
    expect(response.status).toBe(403);
    expect(sent).toEqual([]);
  });

  it("with the token of the form, the change is sent with the person's token and the version of the form", async () => {
    const { sent, fetch } = createConsole(({ method }) =>
      method === "GET"
        ? Response.json({ client_id: "app", status: "active" }, { headers: { etag: '"2"' } })
        : Response.json({}),
    );
    const token = await formToken(contextOf(), `console ${path}`, "one");
    const response = await fetch(path, post(await cookieOf(sessionOf()), { token, step: "confirm", etag: '"1"' }));
    expect(response.status).toBe(303);
    const change = sent.at(-1)!;
    expect([change.method, new URL(change.url).pathname]).toEqual(["PATCH", "/admin/clients/app"]);
    expect(change.headers.get("authorization")).toBe("Bearer a-token");
    expect(change.headers.get("if-match")).toBe('"1"');
    expect(await change.json()).toEqual({ status: "disabled" });
  });

  it("without a session, a form leads to the sign-in by a button and sends nothing", async () => {
    const { sent, fetch } = createConsole();
    const response = await fetch(path, post("", { step: "confirm" }));
    expect(response.status).toBe(401);
    expect(sent).toEqual([]);
  });

  it("signing out needs the token too", async () => {
    const { fetch } = createConsole();
    const response = await fetch("/console/sign-out", post(await cookieOf(sessionOf()), { token: "x" }));
    expect(response.status).toBe(403);
    expect(response.headers.get("set-cookie")).toBeNull();
  });
});

describe("scopes", () => {
  it("a page and a form outside the person's scopes are refused before anything is sent", async () => {
    const { sent, fetch } = createConsole();
    const cookie = await cookieOf(sessionOf());
    const token = await formToken(contextOf(), "console /console/users/alice/disable", "one");
    expect((await fetch("/console/users", { headers: { cookie } })).status).toBe(403);
    expect((await fetch("/console/users/alice/disable", post(cookie, { token, step: "confirm" }))).status).toBe(403);
    expect(sent).toEqual([]);
  });

  it("a token that the admin API refuses ends the session; one without a permission does not", async () => {
    const cookie = await cookieOf(sessionOf());
    const ended = await createConsole(() => Response.json({}, { status: 401 })).fetch("/console/clients", {
      headers: { cookie },
    });
    expect(ended.status).toBe(401);
    expect(ended.headers.get("set-cookie")).toContain("Max-Age=0");
    const demoted = await createConsole(() => Response.json({}, { status: 403 })).fetch("/console/clients", {
      headers: { cookie },
    });
    expect(demoted.status).toBe(403);
    expect(demoted.headers.get("set-cookie")).toBeNull();
  });
});

describe("a query that somebody has changed", () => {
  it("is refused with the admin API's reason, as invalid and not as missing", async () => {
    const lines: string[] = [];
    const log = vi.spyOn(console, "info").mockImplementation((line) => void lines.push(String(line)));
    const refusal = { error: "invalid_request", error_description: "cursor: is not a cursor of this list" };
    const { fetch } = createConsole(() => Response.json(refusal, { status: 400 }));
    const response = await fetch("/console/clients?clients=x", { headers: { cookie: await cookieOf(sessionOf()) } });
    log.mockRestore();
    expect(response.status).toBe(400);
    expect(lines.join()).toContain('"reason":"query-invalid","detail":"cursor: is not a cursor of this list"');
  });
});

describe("signing in", () => {
  async function begin(path: string) {
    const { fetch } = createConsole();
    const response = await fetch(path);
    const url = new URL(response.headers.get("location")!);
    return { url, browser: response.headers.get("set-cookie")!.split(";")[0]! };
  }

  it("RFC 7636 §4.3: the request has a challenge, a state, a nonce, and asks for two factors", async () => {
    const { url } = await begin("/console");
    expect(`${url.origin}${url.pathname}`).toBe(`${origin}/authorize`);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      ...{ client_id: "console", response_type: "code", redirect_uri: `${origin}/console/callback` },
      ...{ acr_values: "mfa", code_challenge_method: "S256", code_challenge: expect.stringMatching(/^[\w-]{43}$/) },
      nonce: expect.stringMatching(/^[\w-]{22}$/),
    });
  });

  function idToken(claims: Readonly<Record<string, unknown>>): string {
    const encode = (value: unknown) =>
      btoa(JSON.stringify(value)).replaceAll("=", "").replaceAll("+", "-").replaceAll("/", "_");
    return `${encode({ alg: "ES256" })}.${encode(claims)}.c2ln`;
  }

  async function comeBack({
    path = "/console/clients?by=status",
    cookie,
    claims = {},
    iss = origin,
  }: {
    readonly path?: string;
    readonly cookie?: string;
    readonly claims?: Readonly<Record<string, unknown>>;
    readonly iss?: string;
  } = {}) {
    const { url, browser } = await begin(path);
    const { state = "", nonce } = Object.fromEntries(url.searchParams);
    const { sent, fetch } = createConsole(() => {
      const own = { aud: "console", sub: "maria", acr: "mfa", nonce, ...claims };
      return Response.json({
        access_token: idToken({ permissions: ["admin:clients", "x"] }),
        expires_in: 1800,
        scope: "openid admin:clients admin:users",
        id_token: idToken(own),
      });
    });
    const query = new URLSearchParams({ code: "c", state, iss });
    const response = await fetch(`/console/callback?${query}`, { headers: { cookie: cookie ?? browser } });
    return { response, sent };
  }

  it("leads back to the page, with the scopes that are permissions too", async () => {
    const { response, sent } = await comeBack();
    expect(response.headers.get("location")).toBe("/console/clients?by=status");
    const session = await read(response.headers.get("set-cookie")!.split(";")[0]!);
    expect(session).toMatchObject({ sub: "maria", scopes: ["admin:clients"] });
    expect(Object.fromEntries(new URLSearchParams(await sent[0]!.text()))).toMatchObject({
      ...{ grant_type: "authorization_code", code: "c", code_verifier: expect.stringMatching(/^[\w-]{43}$/) },
    });
  });

  it.each([
    ["one factor", { claims: { acr: "pwd" } }],
    ["another nonce", { claims: { nonce: "other" } }],
    ["an ID token of another client", { claims: { aud: "app" } }],
  ])("a sign-in with %s opens no session", async (_, options) => {
    const { response } = await comeBack(options);
    expect(response.status).toBe(403);
    expect(response.headers.get("set-cookie")).toBeNull();
  });

  it.each([
    ["in another browser", { cookie: `__Host-op-browser=${"A".repeat(43)}` }],
    ["from another issuer (RFC 9207 §2.4)", { iss: "https://evil.example" }],
  ])("a response %s is refused, and its code is not sent", async (_, options) => {
    const { response, sent } = await comeBack(options);
    expect(response.status).toBe(403);
    expect(sent).toEqual([]);
  });

  it.each([
    ["https://evil.example/console", "/console"],
    ["//evil.example/console", "/console"],
    ["/\\evil.example", "/console"],
    ["/console/../account", "/console"],
    ["/console/%2e%2e/account", "/console"],
    ["/consolex", "/console"],
    ["/console/callback?code=x", "/console"],
    ["javascript:alert(1)", "/console"],
    ["/console/clients?by=status#x", "/console/clients?by=status"],
    ["/console?x=https://evil.example", "/console?x=https://evil.example"],
  ])("RFC 9700 §4.11: a sign-in that began at %s leads to %s", (began, leads) => {
    expect(consolePath(began)).toBe(leads);
  });
});

describe("every page", () => {
  it("has a policy without foreign sources, is not cached, and is not framed", async () => {
    const { fetch } = createConsole(() => Response.json({ clients: [] }));
    const response = await fetch("/console/clients", { headers: { cookie: await cookieOf(sessionOf()) } });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-security-policy")).toBe(
      "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("x-frame-options")).toBe("DENY");
  });

  it("shows names as text", async () => {
    const name = `"><script>alert(1)</script>`;
    const { fetch } = createConsole(() =>
      Response.json({ clients: [{ client_id: name, client_name: name, status: "active" }] }),
    );
    const html = await (
      await fetch("/console/clients", { headers: { cookie: await cookieOf(sessionOf({ name })) } })
    ).text();
    expect(html).not.toContain("<script>alert");
    expect(html).toContain("&lt;script&gt;alert(1)");
  });
});
