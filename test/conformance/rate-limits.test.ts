/** **RFC 6585 §4**: failed authentications of one address are limited; 200 in ten seconds, as the wrangler files state. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";

let provider: LocalProvider;

beforeAll(async () => {
  provider = await startLocalProvider({ vars: { TRUST_FORWARDED_HEADERS: "true" } });
});

afterAll(() => provider.stop());

const form = { grant_type: "client_credentials" };

function request(address: string, authorization: string) {
  return postForm(`${provider.origin}/token`, form, { authorization, "x-forwarded-for": address });
}

describe("RFC 6585 §4 rate limits", () => {
  test("an address that keeps failing gets 429 with Retry-After; another address does not", async () => {
    const wrong = basicAuthorization({ client_id: "nobody", client_secret: "wrong" });
    const right = basicAuthorization(provider.admin);
    const guess = () => Promise.all(Array.from({ length: 60 }, () => request("203.0.113.9", wrong)));
    let guesses = await guess();
    // More than one window's limit, because a window may end in between.
    for (let sent = 60; sent < 1_200 && guesses.every(({ status }) => status === 401); sent += 60)
      guesses = await guess();
    const refused = guesses.find(({ status }) => status === 429);
    expect(refused?.headers.get("retry-after")).toBe("1");
    expect(refused?.body).toMatchObject({ error: "rate_limited" });
    expect((await request("203.0.113.10", wrong)).status).toBe(401);
    expect((await request("203.0.113.10", right)).status).toBe(200);
  });
});
