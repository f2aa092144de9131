import { randomUUID } from "node:crypto";
import { findFreePort } from "../../../packages/edge-op/src/free-port.ts";
import { postForm } from "../../../packages/edge-op/src/provider-api.ts";
import { Application } from "../../conformance/fixtures/application.ts";
import { accessToken, type ProviderFixtures } from "../../conformance/fixtures/provider-fixtures.ts";
import { registerPerson } from "../../conformance/fixtures/register-person.ts";
import { DpopKey } from "../../fixtures/dpop-key.ts";
import { ApiServer, recipes } from "./api-server.ts";

/** The status of a server of the guide for each kind of token; a person's access token of the default form is `null` where the record has another. */
export interface ServerResults {
  readonly accessToken: number;
  readonly idToken: number;
  readonly ofOtherResource: number;
  readonly bound: number;
  readonly none: number;
}

/** **Runs a server of docs/operating/protect-an-api.md** beside a provider, and sends it tokens that it must accept and refuse. */
export async function checkServer(name: string, fixtures: ProviderFixtures, folder: string): Promise<ServerResults> {
  const port = await findFreePort("127.0.0.1");
  const { path = "", isPlain } = recipes[name]!;
  const resource = `http://localhost:${port}/${path}`;
  const other = `https://${randomUUID()}.example.com/`;
  const form = { access_token_signed_response_alg: "RS256", access_token_typ: "JWT" };
  for (const identifier of [resource, other]) {
    const record = { identifier, name: "Notes", clients: "registered", ...(isPlain && form) };
    await fixtures.admin.require("POST", "/resources", record);
  }
  const app = await Application.register(fixtures, {
    grant_types: ["authorization_code", "client_credentials"],
    audiences: [resource, other],
  });
  const person = await registerPerson(fixtures);
  const { accessToken: token, idToken } = await app.signIn(person.browser(), { scope: "openid" });
  const service = { grant_type: "client_credentials", resource };
  const { authorization } = app.client;
  const DPoP = await (await DpopKey.generate()).proof("POST", `${fixtures.issuer}/token`);
  const bound = accessToken(await postForm(`${fixtures.origin}/token`, service, { authorization, DPoP }));
  const foreign = await fixtures.clientToken(app.client, { resource: other });
  const server = await ApiServer.start(name, { folder, issuer: fixtures.issuer, port });
  try {
    return {
      accessToken: await server.statusWith(token),
      idToken: await server.statusWith(idToken),
      ofOtherResource: await server.statusWith(foreign),
      bound: await server.statusWith(bound),
      none: await server.statusWith(undefined),
    };
  } finally {
    await server.stop();
  }
}
