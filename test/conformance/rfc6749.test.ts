import { beforeAll, describe, expect, test } from "vitest";
import { basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { api, claimsOf, grantTypes, headerOf, otherApi, type TestClient } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

const token = `${provider.origin}/token`;
const grant = { grant_type: "client_credentials" };

let basic: TestClient;
let post: TestClient;

beforeAll(async () => {
  basic = await fixtures.client();
  post = await fixtures.client({ token_endpoint_auth_method: "client_secret_post" });
});

describe("RFC 6749: client credentials", () => {
  test("§4.4.3, §5.1: a token response is JSON, not cached, without a refresh token", async () => {
    const { status, headers, body } = await fixtures.token(basic, grant);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("pragma")).toBe("no-cache");
    expect(body).toEqual({
      access_token: expect.any(String),
      token_type: "Bearer",
      expires_in: 3600,
      scope: "read write",
    });
  });

  test("RFC 9068 §2: the access token is an at+jwt for the client's first audience", async () => {
    const jwt = await fixtures.clientToken(basic, { scope: "read" });
    expect(headerOf(jwt)).toEqual({ alg: "ES256", typ: "at+jwt", kid: expect.any(String) });
    const claims = claimsOf(jwt);
    expect(claims).toMatchObject({
      iss: provider.issuer,
      sub: basic.client_id,
      client_id: basic.client_id,
      aud: api,
      scope: "read",
      jti: expect.stringMatching(/^g1:wnam:[0-7]:[\w-]+\.[\w-]+$/),
    });
    expect(Number(claims["exp"]) - Number(claims["iat"])).toBe(3600);
  });

  test("§3.3: a scope beyond the client's is invalid_scope, never narrowed silently", async () => {
    for (const scope of ["read admin", "nothing", "Read"]) {
      const { status, body } = await fixtures.token(basic, { ...grant, scope });
      expect([status, body["error"]], scope).toEqual([400, "invalid_scope"]);
    }
  });

  test("§3.3: characters outside the grammar and scopes by the thousand are invalid_scope", async () => {
    const many = Array.from({ length: 3000 }, (_, index) => `s${index}`).join(" ");
    for (const scope of ['re"ad', "re\\ad", "läsen", "read\twrite", " read", "read  write", many]) {
      const { status, body } = await fixtures.token(basic, { ...grant, scope });
      expect([status, body["error"]], scope.slice(0, 20)).toEqual([400, "invalid_scope"]);
    }
  });

  test("RFC 8707 §2: another client's resource is invalid_target; the client's own is the audience", async () => {
    const two = await fixtures.client({ audiences: [api, otherApi] });
    const jwt = await fixtures.clientToken(two, { resource: otherApi });
    expect(claimsOf(jwt)["aud"]).toBe(otherApi);
    for (const resource of ["https://evil.example.com", "relative", `${otherApi}#part`]) {
      const { status, body } = await fixtures.token(two, { ...grant, resource });
      expect([status, body["error"]], resource).toEqual([400, "invalid_target"]);
    }
  });

  test("a client's own lifetime and signature algorithm apply to its tokens", async () => {
    const client = await fixtures.client({ access_token_lifetime: 90, access_token_signed_response_alg: "EdDSA" });
    const response = await fixtures.token(client, grant);
    expect(response.body["expires_in"]).toBe(90);
    expect(headerOf(String(response.body["access_token"]))).toMatchObject({ alg: "EdDSA" });
  });
});

describe("RFC 6749 §2.3: client authentication", () => {
  test("§5.2: a wrong secret sent by Basic is challenged with Basic", async () => {
    const authorization = basicAuthorization({ ...basic, client_secret: "wrong" });
    const { status, headers, body } = await postForm(token, grant, { authorization });
    expect([status, body["error"]]).toEqual([401, "invalid_client"]);
    expect(headers.get("www-authenticate")).toMatch(/^Basic /);
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test("§5.2: a wrong secret in the body is 401 without a challenge for an unused scheme", async () => {
    const wrong = { ...grant, client_id: post.client_id, client_secret: "wrong" };
    const { status, headers, body } = await postForm(token, wrong);
    expect([status, body["error"], headers.get("www-authenticate")]).toEqual([401, "invalid_client", null]);
  });

  test("§2.3.1: credentials are form-encoded inside Basic", async () => {
    const header = `Basic ${btoa(`${encodeURIComponent(basic.client_id)}:${basic.client_secret.replaceAll("-", "%2D")}`)}`;
    expect((await postForm(token, grant, { authorization: header })).status).toBe(200);
  });

  test("§2.3: two methods at once are refused, even if both are correct", async () => {
    const both = { ...grant, client_id: post.client_id, client_secret: post.client_secret };
    const { status, body } = await postForm(token, both, { authorization: basicAuthorization(post) });
    expect([status, body["error"]]).toEqual([400, "invalid_request"]);
  });

  test("§2.3.1: a client_id in the body that differs from the header is refused", async () => {
    const { status, body } = await fixtures.token(basic, { ...grant, client_id: post.client_id });
    expect([status, body["error"]]).toEqual([401, "invalid_client"]);
  });

  describe("§2.3.1: a client with a secret sends it in the header or in the body, whichever it registered", () => {
    const redirect_uri = "https://app.example.com/callback";
    const deviceCode = "urn:ietf:params:oauth:grant-type:device_code";
    const routes: readonly (readonly [path: string, form: Readonly<Record<string, string>>, status: number])[] = [
      ["/token", grant, 200],
      ["/introspect", { token: "x" }, 200],
      ["/revoke", { token: "x" }, 200],
      ["/par", { response_type: "code", redirect_uri, scope: "openid", nonce: "n" }, 201],
      ["/device_authorization", { scope: "openid" }, 200],
    ];
    const metadata = {
      grant_types: ["client_credentials", "authorization_code", deviceCode],
      redirect_uris: [redirect_uri],
      scope: "openid read",
    };
    type Sent = "header" | "body" | "both" | "nothing";
    const send = (path: string, form: Readonly<Record<string, string>>, client: TestClient, sent: Sent) => {
      const { client_id, client_secret, authorization } = client;
      return postForm(
        provider.origin + path,
        {
          ...form,
          ...(sent === "header" ? {} : { client_id }),
          ...(sent === "body" || sent === "both" ? { client_secret } : {}),
        },
        sent === "header" || sent === "both" ? { authorization } : {},
      );
    };

    test.each(routes)("%s", async (path, form, status) => {
      for (const method of ["client_secret_basic", "client_secret_post"]) {
        const client = await fixtures.client({ ...metadata, token_endpoint_auth_method: method });
        for (const sent of ["header", "body"] as const) {
          const response = await send(path, form, client, sent);
          expect(response.status, `${method} by ${sent}: ${response.text}`).toBe(status);
          const wrong = await send(
            path,
            form,
            { ...client, client_secret: "x", authorization: basicAuthorization({ ...client, client_secret: "x" }) },
            sent,
          );
          expect([wrong.status, wrong.body["error"]]).toEqual([401, "invalid_client"]);
        }
        expect((await send(path, form, client, "both")).body["error"]).toBe("invalid_request");
        expect((await send(path, form, client, "nothing")).body["error"]).toBe("invalid_client");
      }
    });

    test.each(routes)("%s: never for a client with a key", async (path, form) => {
      const keyed = await fixtures.asserter({
        ...metadata,
        grant_types: [...metadata.grant_types, grantTypes.jwtBearer],
        token_endpoint_auth_method: "private_key_jwt",
      });
      for (const sent of ["header", "body"] as const) {
        const response = await send(
          path,
          form,
          { ...keyed, client_secret: "x", authorization: basicAuthorization({ ...keyed, client_secret: "x" }) },
          sent,
        );
        expect([response.status, response.body["error"]]).toEqual([401, "invalid_client"]);
      }
    });
  });

  test("an unknown client and a wrong secret have the same response", async () => {
    const unknown = await postForm(token, grant, {
      authorization: basicAuthorization({ client_id: "nobody", client_secret: "x" }),
    });
    const wrong = await postForm(token, grant, {
      authorization: basicAuthorization({ ...basic, client_secret: "x" }),
    });
    expect(unknown.text).toBe(wrong.text);
    expect(unknown.status).toBe(wrong.status);
    expect(unknown.headers.get("www-authenticate")).toBe(wrong.headers.get("www-authenticate"));
  });

  test("malformed credentials are refusals, never failures", async () => {
    for (const authorization of [
      "Basic",
      "Basic ",
      "Basic !!!",
      "Basic QQ==",
      `Basic ${btoa(":x")}`,
      "Bearer x",
      "Negotiate abc",
      "Basic JTpi",
    ]) {
      const { status, body } = await postForm(token, grant, { authorization });
      expect([status, body["error"]], authorization).toEqual([401, "invalid_client"]);
    }
  });
});

describe("RFC 6749 §3.2: parameters", () => {
  test("a repeated parameter is refused", async () => {
    const form = new URLSearchParams([...Object.entries(grant), ["scope", "read"], ["scope", "write"]]);
    const { status, body } = await fixtures.token(basic, form);
    expect([status, body["error"]]).toEqual([400, "invalid_request"]);
  });

  test("a parameter without a value counts as absent", async () => {
    const { status, body } = await fixtures.token(basic, { ...grant, scope: "" });
    expect([status, body["scope"]]).toEqual([200, "read write"]);
  });

  test("an unknown parameter is ignored", async () => {
    expect((await fixtures.token(basic, { ...grant, unheard_of: "x" })).status).toBe(200);
  });

  test("§5.2: a missing grant_type is invalid_request, an unknown one unsupported, an unregistered one unauthorized", async () => {
    const errors = await Promise.all(
      [{}, { grant_type: "password" }, { grant_type: "refresh_token", refresh_token: "x" }].map(async (form) => {
        const { status, body } = await fixtures.token(basic, form);
        return [status, body["error"]];
      }),
    );
    expect(errors).toEqual([
      [400, "invalid_request"],
      [400, "unsupported_grant_type"],
      [400, "unauthorized_client"],
    ]);
  });

  test("JSON and multipart bodies are refused", async () => {
    for (const body of [JSON.stringify(grant), new URLSearchParams(grant).toString()]) {
      const response = await fetch(token, {
        method: "POST",
        headers: { authorization: basic.authorization, "content-type": "application/json" },
        body,
      });
      expect(response.status).toBe(400);
    }
    const multipart = new FormData();
    multipart.set("grant_type", "client_credentials");
    const response = await fetch(token, {
      method: "POST",
      headers: { authorization: basic.authorization },
      body: multipart,
    });
    expect(response.status).toBe(400);
  });

  test("parameters of the query string do not count", async () => {
    const { status, body } = await postForm(
      `${token}?grant_type=client_credentials`,
      {},
      { authorization: basic.authorization },
    );
    expect([status, body["error"]]).toEqual([400, "invalid_request"]);
  });

  test("a body beyond 64 KiB is 413, 65 parameters are 400", async () => {
    const large = await fixtures.token(basic, { ...grant, padding: "x".repeat(66_000) });
    expect(large.status).toBe(413);
    const many = new URLSearchParams(grant);
    for (let index = 0; index < 64; index += 1) many.set(`p${index}`, "x");
    expect((await fixtures.token(basic, many)).status).toBe(400);
  });
});
