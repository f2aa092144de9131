import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { basicHeader } from "../../../test/fixtures/call.ts";
import { isRegisteredRedirectUri } from "../src/authorization/response-target.ts";
import { authorizationQuery, useDeployment } from "./fixtures/auth-fixtures.ts";

const uris = fc.oneof(fc.webUrl({ withQueryParameters: true }), fc.string(), fc.constant("com.example.app:/cb"));
/** Whether a registered redirect URI accepts the given one. */
function isSameRedirectUri(registered: string, given: string, type: "web" | "native" | "public" = "web"): boolean {
  const application_type = type === "native" ? "native" : "web";
  const token_endpoint_auth_method = type === "public" ? "none" : "client_secret_basic";
  return isRegisteredRedirectUri({ redirect_uris: [registered], application_type, token_endpoint_auth_method }, given);
}
const ports = fc.integer({ min: 1, max: 65_535 });

describe("RFC 9700 §4.1.3: redirect URIs are compared byte for byte", () => {
  it("two URIs that differ in any way are different", () => {
    fc.assert(
      fc.property(uris, uris, (registered, given) => {
        expect(isSameRedirectUri(registered, given)).toBe(registered === given);
      }),
    );
  });

  it("a URI that is extended, shortened, or changed in one character is different", () => {
    const registered = "https://app.example.com/callback";
    fc.assert(
      fc.property(
        fc.nat(registered.length),
        fc.string({ minLength: 1, maxLength: 3 }),
        fc.nat(2),
        (at, insert, cut) => {
          const given = registered.slice(0, at) + insert + registered.slice(at + cut);
          expect(isSameRedirectUri(registered, given)).toBe(given === registered);
        },
      ),
    );
  });

  it("a loopback URI with an impossible port is not a redirect URI", () => {
    expect(isSameRedirectUri("http://127.0.0.1/cb", "http://127.0.0.1:65535/cb")).toBe(true);
    expect(isSameRedirectUri("http://127.0.0.1/cb", "http://127.0.0.1:65536/cb")).toBe(false);
    expect(isSameRedirectUri("http://127.0.0.1/cb", "http://127.0.0.1:99999/cb")).toBe(false);
  });

  it("RFC 8252 §7.3: only the port of a loopback address may differ", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("127.0.0.1", "[::1]"),
        ports,
        ports,
        fc.constantFrom("", "/", "/cb?x=1"),
        (host, a, b, path) => {
          expect(isSameRedirectUri(`http://${host}${path}`, `http://${host}:${a}${path}`)).toBe(true);
          expect(isSameRedirectUri(`http://${host}:${b}${path}`, `http://${host}:${a}${path}`)).toBe(true);
          expect(isSameRedirectUri(`http://${host}${path}`, `http://${host}:${a}${path}x`)).toBe(false);
          expect(isSameRedirectUri(`http://${host}${path}`, `https://${host}:${a}${path}`)).toBe(false);
          expect(isSameRedirectUri(`http://${host}${path}`, `http://x@${host}:${a}${path}`)).toBe(false);
        },
      ),
    );
  });

  it.each(["localhost", "127.0.0.1", "[::1]"])(
    "RFC 8252 §7.3: a public client has any port of %s, as web too",
    (host) => {
      for (const registered of [`http://${host}/cb`, `http://${host}:3118/cb`]) {
        for (const given of [`http://${host}:51004/cb`, `http://${host}/cb`]) {
          expect(isSameRedirectUri(registered, given, "public"), given).toBe(true);
        }
        expect(isSameRedirectUri(registered, `http://${host}:51004/cbx`, "public")).toBe(false);
        expect(isSameRedirectUri(registered, `https://${host}:51004/cb`, "public")).toBe(false);
      }
    },
  );

  it("RFC 8252 §7.3: the port of localhost may differ only for a native or public client", () => {
    const registered = "http://localhost/cb";
    for (const given of ["http://localhost:8080/cb", "http://localhost:1/cb", registered]) {
      expect(isSameRedirectUri(registered, given, "native"), given).toBe(true);
    }
    const refused = [
      "http://localhost:8080/cbx",
      "http://127.0.0.1:8080/cb",
      "https://localhost:8080/cb",
      "http://localhost.evil.example:8080/cb",
      "http://localhost:8080@evil.example/cb",
      "http://LOCALHOST:8080/cb",
      "http://localhost:99999/cb",
      "http://localhost:/cb",
    ];
    for (const given of refused) expect(isSameRedirectUri(registered, given, "native"), given).toBe(false);
    expect(isSameRedirectUri("http://127.0.0.1/cb", "http://localhost:8080/cb", "native")).toBe(false);
    expect(isSameRedirectUri("https://app.example/cb", "https://app.example:8443/cb", "native")).toBe(false);
    expect(isSameRedirectUri(registered, "http://localhost:8080/cb", "web")).toBe(false);
    expect(isSameRedirectUri("http://localhost:3000/cb", "http://localhost:3000/cb", "web")).toBe(true);
  });
});

/** The line of a refused request names the client and the redirect URI, so that an operator can compare them with a registration. */
describe("RFC 9700 §4.1.3: the log of a refused request", () => {
  const { fixtures, browser } = useDeployment();

  const wrong = "https://evil.example/cb?code=secret&x=1#token";
  const shown = "https://evil.example/cb?code=…&x=…#…";
  const request = (more: Readonly<Record<string, string | undefined>>) => authorizationQuery(more);
  const jwt = (claims: object) =>
    `${btoa(JSON.stringify({ alg: "ES256" }))}.${btoa(JSON.stringify(claims))}.AAAA`.replaceAll("=", "");
  const assertion = {
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: jwt({ sub: "app" }),
  };
  const app = { claimedClientId: "app" };

  it.each<[route: string, path: string, form: Record<string, string> | URLSearchParams | undefined, fields: object]>([
    [
      "/authorize",
      `/authorize?${request({ redirect_uri: wrong })}`,
      undefined,
      {
        ...app,
        reason: "redirect-uri-not-registered",
        detail: `redirect_uri ${shown}; registered: https://app.example.com/callback`,
      },
    ],
    [
      "/authorize, posted",
      "/authorize",
      request({ redirect_uri: wrong }),
      {
        ...app,
        reason: "redirect-uri-not-registered",
        detail: `redirect_uri ${shown}; registered: https://app.example.com/callback`,
      },
    ],
    [
      "/authorize for an unknown client",
      `/authorize?${request({ client_id: "no\nbody" })}`,
      undefined,
      { claimedClientId: "no\\u{a}body", reason: "client-unknown" },
    ],
    [
      "/authorize, sent to the client",
      `/authorize?${request({ prompt: "none" })}`,
      undefined,
      { ...app, reason: "prompt-none" },
    ],
    [
      "/authorize with a request_uri that does not exist",
      "/authorize?client_id=app&request_uri=urn:ietf:params:oauth:request_uri:nothing",
      undefined,
      app,
    ],
    ["/par without a valid secret", "/par", request({ client_secret: "wrong" }), app],
    ["/par with an assertion of nobody's key", "/par", { ...assertion, response_type: "code" }, app],
    ["/device_authorization", "/device_authorization", { client_id: "nobody" }, { claimedClientId: "nobody" }],
    [
      "/logout",
      `/logout?${new URLSearchParams({ client_id: "app", post_logout_redirect_uri: wrong })}`,
      undefined,
      { ...app, reason: "logout-uri-not-registered", detail: `post_logout_redirect_uri ${shown}; registered: none` },
    ],
    [
      "/logout without a client",
      `/logout?${new URLSearchParams({ post_logout_redirect_uri: wrong })}`,
      undefined,
      { reason: "logout-uri-without-client", detail: `post_logout_redirect_uri ${shown}` },
    ],
    [
      "/logout for an unknown client",
      "/logout?client_id=nobody",
      undefined,
      { claimedClientId: "nobody", reason: "logout-client-unknown" },
    ],
  ])("%s", async (_, path, form, fields) => {
    const line = await refusedLine(() =>
      form === undefined
        ? browser.get(path)
        : browser.post(path, form instanceof URLSearchParams ? Object.fromEntries(form) : form),
    );
    expect(line).toMatchObject(fields);
    expect(JSON.stringify(line)).not.toContain("secret&");
    if (!("claimedClientId" in fields)) expect(line).not.toHaveProperty("claimedClientId");
  });

  it("/par, after the client has authenticated: the client is not a mere claim", async () => {
    const { clientId, clientSecret } = fixtures.client;
    const line = await refusedLine(() =>
      browser.send("/par", {
        method: "POST",
        headers: {
          authorization: basicHeader(clientId, clientSecret),
          "content-type": "application/x-www-form-urlencoded",
        },
        body: request({ redirect_uri: wrong }).toString(),
      }),
    );
    expect(line).toMatchObject({
      clientId: "app",
      detail: `redirect_uri ${shown}; registered: https://app.example.com/callback`,
    });
    expect(line).not.toHaveProperty("claimedClientId");
  });

  async function refusedLine(send: () => Promise<Response>): Promise<Record<string, unknown>> {
    const lines: Record<string, unknown>[] = [];
    vi.spyOn(console, "info").mockImplementation((line: string) => {
      lines.push(JSON.parse(line) as Record<string, unknown>);
    });
    await send();
    const refused = lines.filter(({ event }) => event === "refused");
    expect(refused).toHaveLength(1);
    return refused[0]!;
  }
});
