import { expect, test } from "vitest";
import { pageSettings, readDeployment } from "../../packages/op-auth/src/runtime/deployment.ts";
import { platformSettings } from "../../packages/shared/src/config/deployment-settings.ts";
import { readSettings, workerSettings } from "../../packages/shared/src/config/settings.ts";

const withDefault = Object.values({ ...workerSettings, ...pageSettings, ...platformSettings }).filter(
  (setting) => setting.default !== undefined,
);

test.each(withDefault)("$variable accepts its own default", (setting) => {
  expect(setting.read("")).toEqual(setting.read(setting.default));
});

test("no variable is two settings", () => {
  const variables = [workerSettings, pageSettings, platformSettings].flatMap((settings) =>
    Object.values(settings).map(({ variable }) => variable),
  );
  expect(new Set(variables).size).toBe(variables.length);
});

test("absent and empty variables have their defaults", () => {
  const absent = readSettings({ ISSUER: "https://op.example.com" });
  const empty = Object.fromEntries(Object.values(workerSettings).map(({ variable }) => [variable, ""]));
  expect(readSettings({ ...empty, ISSUER: "https://op.example.com" })).toEqual(absent);
  expect(absent).toEqual({
    issuer: "https://op.example.com",
    revocationMode: "strict",
    leaseMs: 1000,
    serverTiming: false,
    accessTokenLifetimeSeconds: 3600,
    idTokenLifetimeSeconds: 3600,
    accessTokenAlgorithm: "ES256",
    idTokenAlgorithm: "RS256",
    introspectionCache: false,
    refreshGraceSeconds: 30,
    refreshReplays: 5,
    refreshTokenLifetimeSeconds: 2_592_000,
    trustForwardedHeaders: false,
    passwordMin: 15,
    passwordBreach: "off",
    requestLogPercent: 10,
    auditRetentionDays: 365,
    auditRecentDays: 7,
    auditTokensPerMinute: 60,
    signUp: "off",
    mailProvider: "off",
    mailFrom: undefined,
    resendOrigin: "https://api.resend.com",
    enabledHooks: {},
    region: "wnam",
    jurisdiction: "none",
    dpopNonces: false,
    dpopSingleUse: "everywhere",
    securityProfile: "none",
    mtlsProxyKeyHashes: [],
    mtlsOrigin: undefined,
    deviceCodeLifetimeSeconds: 600,
    devicePollSeconds: 5,
    authorizationTypes: {},
    clientDocuments: "deny",
    clientDocumentHosts: [],
    clientRegistration: "off",
    softwareStatementIssuers: [],
    privateUseSchemes: [],
    clientUnusedSeconds: 86_400,
    clientIdleSeconds: 7_776_000,
    deletionGraceDays: 14,
    passkeyOrigins: [],
  });
});

test.each([
  ["ISSUER", "", "ISSUER must be an origin"],
  ["ISSUER", "https://op.example.com/", "ISSUER must be an origin: scheme, host and port in lower case"],
  ["REVOCATION_MODE", "lazy", 'REVOCATION_MODE must be one of direct, strict, bounded, not "lazy"'],
  ["LEASE_MS", "99", 'LEASE_MS must be a whole number from 100 to 10000, not "99"'],
  ["ACCESS_TOKEN_LIFETIME", "1.5", 'ACCESS_TOKEN_LIFETIME must be a whole number from 1 to 86400, not "1.5"'],
  ["MTLS_ORIGIN", "https://mtls.example.com/", "MTLS_ORIGIN must be an origin"],
  ["MTLS_PROXY_KEY_SHA256", "a key", "MTLS_PROXY_KEY_SHA256 must be SHA-256 hashes in hexadecimal"],
  ["AUTHORIZATION_DETAILS_TYPES", "[]", "AUTHORIZATION_DETAILS_TYPES must be a JSON object"],
  [
    "AUTHORIZATION_DETAILS_TYPES",
    '{"payment": {"remember": "never"}}',
    "AUTHORIZATION_DETAILS_TYPES: payment.remember must be true or false",
  ],
  ["MAIL_PROVIDER", "resend", "MAIL_FROM must be a mail address if MAIL_PROVIDER is not off"],
  ["MAIL_FROM", "nobody", 'MAIL_FROM must be a mail address, not "nobody"'],
  ["SERVER_TIMING", "yes", 'SERVER_TIMING must be one of false, true, not "yes"'],
])("%s refuses %j", (name, value, message) => {
  expect(() => readSettings({ ISSUER: "https://op.example.com", [name]: value })).toThrow(message);
});

test("a region outside the jurisdiction is refused, and never silently replaced", () => {
  const eu = { ISSUER: "https://op.example.com", JURISDICTION: "eu" };
  expect(readSettings({ ...eu, REGION: "eeur" })).toMatchObject({ region: "eeur", jurisdiction: "eu" });
  expect(() => readSettings({ ...eu, REGION: "wnam" })).toThrow("REGION must be one of weur, eeur in JURISDICTION eu");
  expect(() => readSettings(eu)).toThrow("REGION must be one of weur, eeur in JURISDICTION eu");
  const us = { ...eu, JURISDICTION: "us" };
  expect(readSettings(us)).toMatchObject({ region: "wnam", jurisdiction: "us" });
  expect(readSettings({ ...us, REGION: "enam" })).toMatchObject({ region: "enam" });
  expect(() => readSettings({ ...us, REGION: "weur" })).toThrow("REGION must be one of wnam, enam in JURISDICTION us");
});

test("a session's idle time is at most its lifetime, also by default", () => {
  expect(readDeployment({ SESSION_LIFETIME: "3600" }).session).toEqual({ idleMs: 3_600_000, absoluteMs: 3_600_000 });
  expect(() => readDeployment({ SESSION_LIFETIME: "3600", SESSION_IDLE: "3601" })).toThrow(
    'SESSION_IDLE must be a whole number from 60 to 3600, not "3601"',
  );
});

test("NIST SP 800-63B-4 §2.1.3: a session lasts 30 days at most", () => {
  expect(readDeployment({ SESSION_LIFETIME: String(30 * 86_400) }).session.absoluteMs).toBe(2_592_000_000);
  expect(() => readDeployment({ SESSION_LIFETIME: String(30 * 86_400 + 1) })).toThrow("SESSION_LIFETIME");
});

test("the colour for dark schemes defaults to the brand colour", () => {
  expect(readDeployment({ BRAND_COLOR: "#123456" }).brandColorDark).toBe("#123456");
  expect(readDeployment({}).brandColorDark).toBe("#8ab4ff");
});

test("the look without settings: corners of 10 pixels, the system's font, no logo for dark schemes", () => {
  expect(readDeployment({})).toMatchObject({ cornerRadius: 10, font: "system", logoUrlDark: undefined });
});
