import { describe, expect, it } from "vitest";
import { type ApplicationType, isPrivateUseName, redirectUriFault } from "../../src/oauth/uris.ts";

describe("RFC 8252 §7, OIDC Registration §2: redirect URIs by application type", () => {
  const insecure = "must be https, or http on a loopback address; private-use schemes require application_type native";
  const notNative =
    "must be https, http on a loopback address, or a private-use scheme with a dot (others by PRIVATE_USE_SCHEMES)";
  const wildcard = "must be the exact URI: wildcards are not supported";
  const malformed = "must be an absolute URI without a fragment";
  const table: [uri: string, type: ApplicationType, fault: string | undefined][] = [
    ["https://app.example/cb?x=1", "web", undefined],
    ["http://localhost:3000/cb", "web", undefined],
    ["http://app.example/cb", "web", insecure],
    ["com.example.app:/cb", "web", insecure],
    ["javascript:alert(1)", "web", insecure],
    ["https://app.example/cb", "native", undefined],
    ["http://127.0.0.1/cb", "native", undefined],
    ["http://[::1]:8080/cb", "native", undefined],
    ["com.example.app:/cb", "native", undefined],
    ["com.example.app://cb", "native", undefined],
    ["myapp:/cb", "native", notNative],
    ["javascript:alert(1)", "native", notNative],
    ["http://app.example/cb", "native", notNative],
    ["https://user:pass@app.example/", "web", malformed],
    ["https:/app.example/cb", "web", malformed],
    ["https:\\\\app.example\\cb", "web", malformed],
    [" https://app.example/cb", "web", malformed],
    ["https://app.example/\tcb", "web", malformed],
    ["https://app.example/#", "web", malformed],
    ["https://ex ample/", "web", malformed],
    ["https://a.example/*", "web", wildcard],
    ["https://*.a.example/cb", "web", wildcard],
    ["https://a.example/cb?x=*", "web", wildcard],
    ["http://localhost:*/cb", "native", wildcard],
    ["com.example.app:/*", "native", wildcard],
    ["//app.example/cb", "web", malformed],
    ["https://app.example./cb", "web", malformed],
    ["http://localhost./cb", "native", malformed],
    ["", "web", malformed],
  ];

  it.each(table)("RFC 8252 §7: %j for a %s application", (uri, type, fault) => {
    expect(redirectUriFault(uri, type, [])).toBe(fault);
  });

  it.each<[uri: string, type: ApplicationType, isAllowed: boolean]>([
    ["cursor://anysphere.cursor-mcp/oauth/callback", "native", true],
    ["Cursor://anysphere.cursor-mcp/oauth/callback", "native", true],
    ["cursor://anysphere.cursor-mcp/oauth/callback", "web", false],
    ["cursors://callback", "native", false],
    ["vscode://callback", "native", false],
    ["javascript:alert(1)", "native", false],
  ])("§8.4: where an operator allows the scheme cursor, %s for a %s application", (uri, type, isAllowed) => {
    expect(redirectUriFault(uri, type, ["cursor"]) === undefined).toBe(isAllowed);
  });

  it.each([
    "javascript",
    "data",
    "file",
    "blob",
    "http",
    "https",
    "vbscript",
    "intent",
    "mailto",
    "Cursor",
    "a b",
    "*",
    "c:",
    "",
  ])("§8.4: no operator can allow the scheme %j", (scheme) => {
    expect(isPrivateUseName(scheme)).toBe(false);
  });
});
