import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { Guide, runBlock } from "./fixtures/guide.ts";
import { claimsOf } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";
import { serveKeys, TestIssuer } from "./fixtures/test-issuer.ts";

/** Guides of docs/operating are executed as written. The guide about ID-JAGs is in id-jag.test.ts, which has two providers. */
async function adminToken(): Promise<string> {
  const headers = { authorization: basicAuthorization(provider.dev.admin) };
  const { body } = await postForm(`${provider.origin}/token`, { grant_type: "client_credentials" }, headers);
  return String(body["access_token"]);
}

/** The endpoint of the CI system that issues a job's JWT. */
async function startJobTokens(issuer: TestIssuer, claims: Readonly<Record<string, unknown>>) {
  const server = createServer((request, response) => {
    const aud = new URL(request.url ?? "", "http://localhost").searchParams.get("audience") ?? "";
    issuer.sign({ ...claims, aud }).then(
      (value) => response.end(JSON.stringify({ value })),
      (error: Error) => response.destroy(error),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/?api-version=2`,
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

test("docs/operating/workloads.md: a CI job gets a token without a secret", async () => {
  const keys = await serveKeys();
  const ci = await TestIssuer.create(keys.origin, "RS256");
  keys.keys = [ci.jwk];
  const jobTokens = await startJobTokens(ci, { sub: "repo:acme/app:ref:refs/heads/main", repository_id: "123456789" });
  try {
    const guide = new Guide("workloads.md", { "https://token.actions.githubusercontent.com": keys.origin });
    const variables = {
      OP: provider.issuer,
      ADMIN: await adminToken(),
      ACTIONS_ID_TOKEN_REQUEST_URL: jobTokens.url,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: "x",
    };
    const [[client], [issuer], [dryRun], [token]] = [
      await runBlock(guide.commands[0]!, variables),
      await runBlock(guide.commands[1]!, variables),
      await runBlock(guide.commands[2]!, variables),
      await runBlock(guide.commands[3]!, variables),
    ];
    expect(client).not.toHaveProperty("client_secret");
    expect(issuer).toMatchObject({
      issuer_id: "github-actions",
      discovery_uri: expect.stringContaining("/.well-known/"),
    });
    expect(dryRun).toMatchObject({
      accepted: false,
      rules: [{ reasons: ['claim sub does not match {"glob":"repo:acme/*:ref:refs/heads/main"}'] }],
    });
    expect(token).toMatchObject({ token_type: "Bearer", scope: "deployments:write", expires_in: 600 });
    const claims = claimsOf(String(token!["access_token"]));
    expect(claims).toMatchObject({ sub: "deploy-job", client_id: "deploy-job", aud: "https://deploy.example.com" });
    expect(guide.issuers).toHaveLength(4);
    for (const record of guide.issuers) await fixtures.admin.require("POST", "/issuers", record);
  } finally {
    await Promise.all([keys.stop(), jobTokens.stop()]);
  }
});

test("docs/operating/acting-for-users.md: its record of a partner's provider is accepted", async () => {
  for (const record of new Guide("acting-for-users.md").issuers)
    await fixtures.admin.require("POST", "/issuers", record);
});
