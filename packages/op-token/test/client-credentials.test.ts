import { beforeEach, describe, expect, it } from "vitest";
import { seedClient } from "../../../test/fixtures/seed.ts";
import { claimsOf, createTokenFixtures, errorOf, type TokenFixtures, tokenEnv } from "./fixtures/token-fixtures.ts";

let fixtures: TokenFixtures;
beforeEach(async () => {
  fixtures = await createTokenFixtures();
});

describe("RFC 6749 §4.4 client credentials", () => {
  it("§4.4.3: issues a bearer token whose subject is the client (RFC 9068 §2.2)", async () => {
    const client = await seedClient(tokenEnv, "service");
    const response = await fixtures.post({ grant_type: "client_credentials" }, client);
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("strict-transport-security")).toBe("max-age=31536000; includeSubDomains");
    const body: Record<string, string> = await response.json();
    expect(body).toMatchObject({ token_type: "Bearer", expires_in: 3600, scope: "read write" });
    expect(body["refresh_token"]).toBeUndefined();
    expect(claimsOf(body["access_token"]!)).toMatchObject({
      iss: "https://op.example.com",
      sub: "service",
      client_id: "service",
      aud: "https://api.example.com",
      scope: "read write",
      jti: expect.stringMatching(/^g1:wnam:[0-7]:[\w-]{22}[0-9a-z]+\.[\w-]{16}$/),
    });
  });

  it("§3.3: narrows to the requested scope and refuses a scope beyond the client's", async () => {
    const client = await seedClient(tokenEnv, "service");
    expect(await fixtures.issue({ grant_type: "client_credentials", scope: "read" }, client)).toMatchObject({
      scope: "read",
    });
    const wider = await fixtures.post({ grant_type: "client_credentials", scope: "read admin" }, client);
    expect(await errorOf(wider)).toBe("400 invalid_scope");
  });

  it("RFC 8707 §2: every requested resource is in aud; one the client may not use is invalid_target", async () => {
    const client = await seedClient(tokenEnv, "service", {
      audiences: ["https://a.example.com", "https://b.example.com"],
    });
    const both = ["https://a.example.com", "https://b.example.com"];
    const { access_token: token } = await fixtures.issue({ grant_type: "client_credentials", resource: both }, client);
    expect(claimsOf(token!)).toMatchObject({ aud: both, resource: both });
    for (const resource of ["https://c.example.com", "not-a-uri", "https://a.example.com#fragment"]) {
      expect(await errorOf(await fixtures.post({ grant_type: "client_credentials", resource }, client))).toBe(
        "400 invalid_target",
      );
    }
  });

  it("a client's lifetime and algorithm are its own settings", async () => {
    const client = await seedClient(tokenEnv, "service", {
      access_token_lifetime: 7,
      access_token_signed_response_alg: "EdDSA",
    });
    const { access_token: token, expires_in: expiresIn } = await fixtures.issue(
      { grant_type: "client_credentials" },
      client,
    );
    expect(expiresIn).toBe(7);
    expect(JSON.parse(atob(token!.split(".")[0]!))).toMatchObject({ alg: "EdDSA", typ: "at+jwt" });
  });

  it("§5.2: a grant the client did not register is unauthorized_client, an unknown one unsupported_grant_type", async () => {
    const client = await seedClient(tokenEnv, "service", { grant_types: ["refresh_token"] });
    expect(await errorOf(await fixtures.post({ grant_type: "client_credentials" }, client))).toBe(
      "400 unauthorized_client",
    );
    expect(await errorOf(await fixtures.post({ grant_type: "password" }, client))).toBe("400 unsupported_grant_type");
    expect(await errorOf(await fixtures.post({ grant_type: "toString" }, client))).toBe("400 unsupported_grant_type");
    expect(await errorOf(await fixtures.post({ scope: "read" }, client))).toBe("400 invalid_request");
  });
});
