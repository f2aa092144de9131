import { afterAll, beforeAll, expect, test } from "vitest";
import { honoOidcAuth } from "./hono-oidc-auth.ts";
import { passportOpenidconnect } from "./passport-openidconnect.ts";
import { Stage } from "./stage.ts";

/** Two products of docs/clients.md that need no installation; `npm run products` runs all. */
let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
});

afterAll(() => stage.close());

test.each([
  [honoOidcAuth, "refresh token revoked, RP-initiated"],
  [passportOpenidconnect, "RP-initiated"],
])(
  "docs/clients.md: $name signs in, refreshes and signs out with the settings as printed",
  async (product, signOut) => {
    const evidence = await stage.run(product);
    expect(evidence).toMatchObject({ refresh: "rotated", signOut });
    expect(JSON.stringify(evidence.claims)).toContain("alice@example.com");
  },
);
