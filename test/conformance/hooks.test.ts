/**
 * **Hooks of the operator**: a Worker beside the provider that each recipe of `examples/hooks` is, called over a Service Binding as in a deployment.
 */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, inject, test } from "vitest";
import { Application } from "./fixtures/application.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { claimsOf, ProviderFixtures } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";

let provider: LocalProvider | undefined;
let server: Server | undefined;
let failures: string[] = [];

afterEach(async () => {
  server?.close();
  await provider?.stop();
  provider = undefined;
  failures = [];
});

/** A system of the operator's that a hook calls. */
async function serve(respond: (path: string) => unknown): Promise<string> {
  server = createServer((request, response) => {
    response.setHeader("content-type", "application/json").end(JSON.stringify(respond(request.url ?? "")));
  });
  await new Promise<void>((resolve) => server!.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function start(
  recipe: string,
  vars: Readonly<Record<string, string>>,
  hookVars: Readonly<Record<string, string>> = {},
) {
  provider = await startLocalProvider({
    shape: inject("shape"),
    vars,
    onLog: ({ message }) => {
      if (message.includes("hook-failed")) failures.push(message);
    },
    hooks: { entry: `examples/hooks/src/${recipe}.ts`, vars: hookVars },
  });
  return new ProviderFixtures(provider);
}

describe("recipes", () => {
  test("a tenant from a CRM is in every token, and at UserInfo", async () => {
    const CRM = await serve(() => ({ tenant: "acme" }));
    const fixtures = await start("claim-from-crm", { ENABLED_HOOKS: "claims" }, { CRM });
    const application = await Application.register(fixtures);
    const person = await registerPerson(fixtures);
    const { claims, accessToken } = await application.signIn(person.browser());
    expect(failures).toEqual([]);
    expect(claims).toMatchObject({ tenant: "acme" });
    expect(claimsOf(accessToken)).toMatchObject({ tenant: "acme" });
    expect(await (await fixtures.userinfo(accessToken)).json()).toMatchObject({ sub: person.sub, tenant: "acme" });
  });
});
