import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AdminCaller, dumpDatabase } from "./fixtures/admin-fixtures.ts";

let admin: AdminCaller;
beforeEach(() => {
  admin = new AdminCaller();
});
afterEach(() => {
  vi.unstubAllGlobals();
});

const name = fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 20 }).filter((text) => text.trim() !== "");
const uri = fc.webUrl({ validSchemes: ["https"] }).filter((text) => /^[\x21-\x7e]+$/.test(text));
const names = fc.uniqueArray(name, { maxLength: 3 });
const flag = fc.boolean();

/** Valid values of independent members; `null` removes a member. */
const members = {
  client_name: name,
  client_uri: uri,
  logo_uri: uri,
  contacts: names,
  default_max_age: fc.nat(31_536_000),
  require_auth_time: flag,
  default_acr_values: names,
  access_token_lifetime: fc.integer({ min: 1, max: 86_400 }),
  id_token_signed_response_alg: fc.constantFrom("ES256", "RS256", "EdDSA"),
  require_pushed_authorization_requests: flag,
  skip_consent: flag,
} satisfies Record<string, fc.Arbitrary<unknown>>;

const document = fc.record(members, { requiredKeys: [] });
const patch = fc.record(
  Object.fromEntries(Object.entries(members).map(([key, value]) => [key, fc.option<unknown>(value, { nil: null })])),
  { requiredKeys: [] },
);

/** RFC 7396 for members that contain no objects. */
function model(state: Record<string, unknown>, change: Record<string, unknown>): Record<string, unknown> {
  const next = { ...state, ...change };
  return Object.fromEntries(Object.entries(next).filter(([, value]) => value !== null));
}

describe("updates by property", () => {
  it("RFC 7396: merge patches in any order commute per member, and keep members that none of them names", async () => {
    await fc.assert(
      fc.asyncProperty(document, fc.array(patch, { minLength: 1, maxLength: 4 }), async (initial, changes) => {
        const created = await admin.call("POST", "/clients", {
          body: { redirect_uris: ["https://app.example/"], ...initial },
        });
        expect(created.status).toBe(201);
        const { client_secret: _, client_secret_expires_at: __, ...shown } = created.body;
        const path = `/clients/${shown.client_id}`;
        let expected: Record<string, unknown> = shown;
        for (const change of changes) {
          expect((await admin.call("PATCH", path, { body: change })).status).toBe(200);
          expected = model(expected, change);
        }
        const read = await admin.call("GET", path);
        expect(read.body).toEqual({ ...expected, updated_at: read.body.updated_at });
      }),
      { numRuns: 15 },
    );
  });

  it("any query gives a result or a refusal", async () => {
    const text = fc.string({ unit: "binary", maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("/clients", "/users", "/roles", "/groups"),
        fc.dictionary(fc.oneof(fc.constantFrom("cursor", "limit", "status", "username"), text), text, { maxKeys: 3 }),
        async (path, query) => {
          const { status } = await admin.call("GET", `${path}?${new URLSearchParams(query)}`);
          expect([200, 400]).toContain(status);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("admin API: cursors of any text are pages or refusals", async () => {
    for (const cursor of ["AA", "_w", "gICA", "JyBPUiAxPTE", "A", "=="]) {
      expect([200, 400]).toContain((await admin.call("GET", `/users?cursor=${cursor}`)).status);
    }
  });
});

describe("OIDC Registration §5: sector identifiers", () => {
  const pairwise = {
    redirect_uris: ["https://a.example/cb", "https://b.example/cb"],
    subject_type: "pairwise",
    sector_identifier_uri: "https://sector.example/uris",
  };
  const refused = ["sector_identifier_uri"];

  function answering(body: string, status = 200): void {
    const headers = { "content-type": "application/json" };
    vi.stubGlobal("fetch", async () => new Response(body, { status, headers }));
  }

  it("OIDC Registration §5: a sector that lists every redirection URI is accepted", async () => {
    answering(JSON.stringify([...pairwise.redirect_uris, "https://c.example/"]));
    expect((await admin.call("POST", "/clients", { body: pairwise })).status).toBe(201);
  });

  it.each([
    ["a list without one of them", JSON.stringify(["https://a.example/cb"]), 200],
    ["a document that is no list", JSON.stringify({ uris: pairwise.redirect_uris }), 200],
    ["text that is no JSON", "<html>", 200],
    ["an error", JSON.stringify(pairwise.redirect_uris), 404],
    ["a redirect", "", 302],
  ])("OIDC Registration §5: %s is refused", async (_claim, body, status) => {
    answering(body, status);
    const before = await dumpDatabase();
    const response = await admin.call("POST", "/clients", { body: pairwise });
    expect([response.status, response.body.fields.map(({ path }: { path: string }) => path)]).toEqual([400, refused]);
    expect(await dumpDatabase()).toBe(before);
  });

  it("OIDC Registration §5: a redirection URI added later must be in the sector too; other changes fetch nothing", async () => {
    answering(JSON.stringify(pairwise.redirect_uris));
    const { body } = await admin.call("POST", "/clients", { body: pairwise });
    const path = `/clients/${body.client_id}`;
    const more = { redirect_uris: [...pairwise.redirect_uris, "https://c.example/cb"] };
    expect((await admin.call("PATCH", path, { body: more })).status).toBe(400);
    vi.stubGlobal("fetch", () => Promise.reject(new Error("away")));
    expect((await admin.call("PATCH", path, { body: { client_name: "New" } })).status).toBe(200);
  });
});
