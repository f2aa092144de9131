import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { AuditLogBindings } from "../../src/audit/admin-event.ts";
import type { RequestReport } from "../../src/audit/audit-log-rpc.ts";
import { describeRefusal, RequestReports } from "../../src/audit/request-reports.ts";
import { createRequestContext, type RequestContext, withMembers } from "../../src/http/request-context.ts";

const origin = "https://op.example.com";
const refusal = new OAuthError("invalid_grant", "code-expired");

afterEach(() => {
  vi.restoreAllMocks();
});

/** The outside of an isolate: the object that receives its reports. */
function receiver(pauseMs: number, fails = false) {
  const reports: RequestReport[] = [];
  const stub = {
    async report(report: RequestReport) {
      reports.push(report);
      if (fails) throw new Error("away");
      return { pauseMs };
    },
  };
  const namespace = { getByName: () => stub, jurisdiction: () => namespace };
  return { reports, namespace: namespace as unknown as AuditLogBindings["CONTROL_PLANE"] };
}

type Progress = Partial<RequestContext<unknown>["progress"]>;

function requestOf(namespace: AuditLogBindings["CONTROL_PLANE"], progress: Progress = {}) {
  const execution = createExecutionContext();
  const env = { ISSUER: origin, CONTROL_PLANE: namespace };
  const created = createRequestContext(new Request(`${origin}/token`, { method: "POST" }), env, execution, "/token");
  const context = withMembers<AuditLogBindings>(created, { progress: { controlConfirmed: false, ...progress } });
  return { context, finished: () => waitOnExecutionContext(execution) };
}

describe("reports of an isolate (ADR 57)", () => {
  it("nothing is sent without a refusal, and all of a second are one call", async () => {
    const { reports, namespace } = receiver(0);
    const own = new RequestReports();
    const { context, finished } = requestOf(namespace, { clientId: "app" });
    expect(reports).toEqual([]);
    for (let index = 0; index < 3; index += 1) own.noteRefusal(context, refusal, undefined);
    expect(reports).toEqual([]);
    await finished();
    expect(reports.map(({ refusals }) => refusals.length)).toEqual([3]);
    expect(reports[0]).toMatchObject({ tokens: [], omittedTokens: 0, omittedRefusals: 0 });
    expect(reports[0]!.refusals[0]).toMatchObject({
      ...{ requestId: context.requestId, endpoint: "/token", method: "POST", clientId: "app" },
      ...{ isAuthenticated: true, isKnownClient: true, code: "invalid_grant", reason: "code-expired" },
    });
  });

  it("one known client, and all unknown ones together, have half of the places; the others are counted", async () => {
    const { reports, namespace } = receiver(0);
    const own = new RequestReports();
    const noisy = requestOf(namespace, { claimedClientId: "noisy", namesKnownClient: true });
    for (let index = 0; index < 1_000; index += 1) own.noteRefusal(noisy.context, refusal, undefined);
    for (let index = 0; index < 10; index += 1)
      own.noteRefusal(requestOf(namespace, { claimedClientId: `invented-${index}` }).context, refusal, undefined);
    own.noteRefusal(requestOf(namespace, { clientId: "quiet" }).context, refusal, undefined);
    await noisy.finished();
    const [report] = reports;
    const of = (id: string) => report!.refusals.filter(({ clientId = "" }) => clientId.startsWith(id)).length;
    expect([of("noisy"), of("invented"), of("quiet"), report!.omittedRefusals]).toEqual([20, 10, 1, 980]);
  });

  it("after a pause that the object gave, and after a failed call, nothing is sent until it has passed", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    for (const { reports, namespace } of [receiver(5_000), receiver(0, true)]) {
      const own = new RequestReports();
      const first = requestOf(namespace);
      own.noteRefusal(first.context, refusal, undefined);
      await first.finished();
      const second = requestOf(namespace);
      own.noteRefusal(second.context, refusal, undefined);
      await second.finished();
      expect(reports.length).toBe(1);
    }
  });
});

describe("what a refusal is described by", () => {
  const secrets = {
    client_secret: "a-secret-of-the-client",
    client_assertion: "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhcHAifQ.c2lnbmF0dXJl",
    code: "the-authorization-code",
    code_verifier: "the-verifier",
    refresh_token: "rt.g1.wnam.3.sealed.0.mac",
    token: "the-token",
    subject_token: "the-subject-token",
    assertion: "the-assertion",
    password: "correct horse battery staple",
    login_hint: "ann@example.com",
    state: "the-state",
    nonce: "the-nonce",
  };

  it("no parameter that has a secret, a token, a code or a person", () => {
    const { context } = requestOf(receiver(0).namespace);
    const body = new URLSearchParams({ ...secrets, grant_type: "refresh_token", scope: "openid email" });
    const headers = new Headers({ authorization: `Basic ${btoa("app:a-secret-of-the-client")}` });
    const sent = { method: "POST", url: `${origin}/token`, headers, text: body.toString() };
    const described = describeRefusal(context, refusal, sent);
    expect(described.sent).toEqual({
      scope: ["openid email"],
      grant_type: ["refresh_token"],
      token_endpoint_auth_method: ["client_secret_basic", "client_secret_post", "private_key_jwt"],
    });
    const text = JSON.stringify(described);
    for (const secret of Object.values(secrets)) expect(text).not.toContain(secret);
  });

  it.each(["redirect_uri", "resource", "audience", "scope", "grant_type", "prompt", "acr_values", "response_type"])(
    "a credential that was sent as %s by mistake is not kept",
    (name) => {
      const { context } = requestOf(receiver(0).namespace);
      const random = "vLhc4RgJ8w3oQKXz2b0mYfE6TtNsUaD1pIqWx9VjHkM";
      for (const credential of [secrets.client_assertion, random, `https://app.example/cb/${random}`]) {
        const url = `${origin}/authorize?${new URLSearchParams({ [name]: credential })}`;
        const { sent } = describeRefusal(context, refusal, { method: "GET", url, headers: new Headers() });
        expect(sent[name]).toHaveLength(1);
        expect(sent[name]![0]).toContain("…");
        expect(JSON.stringify(sent)).not.toMatch(/eyJ|vLhc4RgJ/);
      }
    },
  );

  it("a client id that no client has may be a secret in the wrong field; that of a client is kept", () => {
    const random = "vLhc4RgJ8w3oQKXz2b0mYfE6TtNsUaD1pIqWx9VjHkM";
    const named = (progress: Progress) =>
      describeRefusal(requestOf(receiver(0).namespace, progress).context, refusal, undefined);
    expect(named({ claimedClientId: random })).toMatchObject({ clientId: "…", isKnownClient: false });
    expect(named({ claimedClientId: random, namesKnownClient: true })).toMatchObject({
      clientId: random,
      isKnownClient: true,
      isAuthenticated: false,
    });
  });

  it("URIs without user information, query values and fragment; values of 200 characters; 16 values", () => {
    const { context } = requestOf(receiver(0).namespace);
    const query = new URLSearchParams({ redirect_uri: "https://u:p@app.example/cb?code=x#t" });
    for (let index = 0; index < 30; index += 1) query.append("resource", `https://api.example/${"x/".repeat(200)}`);
    const url = `${origin}/authorize?${query}`;
    const { sent } = describeRefusal(context, refusal, { method: "GET", url, headers: new Headers() });
    expect(sent["redirect_uri"]).toEqual(["https://…@app.example/cb?code=…#…"]);
    expect(sent["resource"]).toHaveLength(16);
    expect(sent["resource"]![0]!.length).toBeLessThanOrEqual(201);
  });

  it("RFC 9126, RFC 9101: the parameters that were pushed or signed, not those beside them", () => {
    const parameters = { all: (name: string) => (name === "scope" ? ["openid pushed"] : []) };
    const { context } = requestOf(receiver(0).namespace, { parameters });
    const url = `${origin}/authorize?request_uri=urn:x&scope=beside`;
    const { sent } = describeRefusal(context, refusal, { method: "GET", url, headers: new Headers() });
    expect(sent).toEqual({ scope: ["openid pushed"] });
  });
});
