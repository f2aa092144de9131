import { expect, it } from "vitest";
import { introspectionValidator } from "../src/validate-by-introspection.ts";
import { resource } from "./fixtures/issuer.ts";

const endpoint = "https://op.example.com/introspect";
const active = { active: true, aud: resource, exp: 9_999_999_999, sub: "alice", client_id: "app", scope: "read write" };

/** A validator at an endpoint with this response, and the requests that it sent. */
function validatorAt(response: () => Response | Promise<Response>, more: { readonly issuer?: string } = {}) {
  const requests: Request[] = [];
  const respond: typeof fetch = (input, init) => {
    requests.push(new Request(input, init as RequestInit));
    return Promise.resolve(response());
  };
  const credentials = { clientId: "a:pi", clientSecret: "s cret%" };
  return { requests, validate: introspectionValidator({ endpoint, ...credentials, fetch: respond, ...more }) };
}

it("RFC 7662 §2.1, RFC 6749 §2.3.1: sends the token with Basic, whose parts are form-encoded", async () => {
  const { requests, validate } = validatorAt(() => Response.json(active));
  expect(await validate(resource, "t&t")).toMatchObject({ scope: ["read", "write"], userId: "alice", clientId: "app" });
  const [request] = requests;
  expect([request!.method, request!.url, await request!.text()]).toEqual([
    "POST",
    endpoint,
    "token=t%26t&token_type_hint=access_token",
  ]);
  expect(request!.headers.get("authorization")).toBe(`Basic ${btoa("a%3Api:s+cret%25")}`);
});

it.each([
  ["an inactive token", { active: false }],
  ["another audience", { ...active, aud: "https://other.example.com" }],
  ["no audience, such as a refresh token", { ...active, aud: undefined }],
  ["no expiry", { ...active, exp: undefined }],
  ["a bound token, for a caller that does not check the key", { ...active, cnf: { jkt: "a" } }],
])("%s is null", async (_, body) => {
  expect(await validatorAt(() => Response.json(body)).validate(resource, "t")).toBeNull();
});

it("a token of another issuer is null if the issuer is given", async () => {
  const issuer = "https://op.example.com";
  const from = (iss?: string) =>
    validatorAt(() => Response.json({ ...active, iss }), { issuer }).validate(resource, "t");
  expect([await from("https://other.example.com"), await from()]).toEqual([null, null]);
  expect(await from(issuer)).not.toBeNull();
});

it.each([
  ["a refusal of the credentials", () => new Response("{}", { status: 401 })],
  ["an unavailable provider", () => new Response("", { status: 503 })],
  ["a redirect", () => Response.redirect("https://evil.example/", 302)],
  ["no JSON", () => new Response("<html>")],
  ["no object", () => Response.json([])],
  ["no `active`", () => Response.json({ exp: 1 })],
])("%s is an error, never a statement about the token", async (_, response) => {
  await expect(validatorAt(response).validate(resource, "t")).rejects.toThrow();
});
