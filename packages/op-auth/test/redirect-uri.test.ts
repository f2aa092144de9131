import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isRegisteredRedirectUri } from "../src/authorization/checks/redirect-uri.ts";

const uris = fc.oneof(fc.webUrl({ withQueryParameters: true }), fc.string(), fc.constant("com.example.app:/cb"));
/** As a client registers it. */
function isSameRedirectUri(registered: string, given: string, type: "web" | "native" = "web"): boolean {
  return isRegisteredRedirectUri({ redirect_uris: [registered], application_type: type }, given);
}
const ports = fc.integer({ min: 1, max: 65_535 });

describe("RFC 9700 §4.1.3: redirect URIs are compared byte for byte", () => {
  it("two that differ in any way are different", () => {
    fc.assert(
      fc.property(uris, uris, (registered, given) => {
        expect(isSameRedirectUri(registered, given)).toBe(registered === given);
      }),
    );
  });

  it("one that is added to, cut, or changed in one character is different", () => {
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

  it("a loopback port that no address has is no redirect URI", () => {
    expect(isSameRedirectUri("http://127.0.0.1/cb", "http://127.0.0.1:65535/cb")).toBe(true);
    expect(isSameRedirectUri("http://127.0.0.1/cb", "http://127.0.0.1:65536/cb")).toBe(false);
    expect(isSameRedirectUri("http://127.0.0.1/cb", "http://127.0.0.1:99999/cb")).toBe(false);
  });

  it("RFC 8252 §7.3: of a loopback address only the port may differ", () => {
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

  it("RFC 8252 §7.3: the port of localhost may differ for a client that registered as native, and for no other", () => {
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
