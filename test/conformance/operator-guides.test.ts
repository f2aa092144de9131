import { afterAll, beforeAll, expect, test } from "vitest";
import { AdminApi, basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { Guide, runBlock } from "./fixtures/guide.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";

/** Pages for operators, executed as written against a provider whose keys and people nobody else needs. */
let provider: LocalProvider;
let variables: Readonly<Record<string, string>>;

beforeAll(async () => {
  provider = await startLocalProvider();
  const headers = { authorization: basicAuthorization(provider.admin) };
  const { body } = await postForm(`${provider.origin}/token`, { grant_type: "client_credentials" }, headers);
  variables = { ISSUER: provider.issuer, TOKEN: String(body["access_token"]) };
});
afterAll(() => provider.stop());

interface Key {
  readonly kid: string;
  readonly alg: string;
  readonly state: string;
}

test("docs/operating/rotate-keys.md: keys are listed, rotated and revoked", async () => {
  const [list, rotate, revoke] = new Guide("rotate-keys.md").commands;
  const keys = async () => {
    const [listed] = await runBlock(list!, variables);
    return (listed!["keys"] as readonly Key[]).filter(({ alg }) => alg === "ES256");
  };
  const before = await keys();
  expect(before.map(({ state }) => state).toSorted()).toEqual(["active", "announced"]);
  const [rotated] = await runBlock(rotate!, variables);
  expect(rotated).toMatchObject({ alg: "ES256", sign_from: expect.anything() });
  const announced = (await keys()).find(({ state, kid }) => state === "announced" && kid !== rotated!["kid"])!;
  expect(await runBlock(revoke!, { ...variables, KID: announced.kid })).toEqual([204]);
  expect((await keys()).map(({ kid }) => kid)).not.toContain(announced.kid);
});

test("docs/operating/erase-and-export.md: a person is exported, erased, and cannot come back", async () => {
  const api = new AdminApi(provider.origin, provider.admin);
  await api.require("POST", "/users", { sub: "alice", username: "alice" });
  const [exported, erased] = new Guide("erase-and-export.md").commands;
  const person = { ...variables, SUB: "alice" };
  const [copy] = await runBlock(exported!, person);
  expect(copy).toMatchObject({ data: { users: [{ username: "alice" }] }, events: expect.any(Array) });
  expect((await runBlock(erased!, person))[0]).toMatchObject({ sub: "alice" });
  await expect(api.require("POST", "/users", { sub: "alice", username: "alice" })).rejects.toThrow("409");
  await expect(api.require("GET", "/users/alice")).rejects.toThrow("404");
});
