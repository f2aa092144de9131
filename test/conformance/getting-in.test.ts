import { afterAll, beforeAll, expect, test } from "vitest";
import { adminClientRow } from "../../packages/edge-op/src/admin-client.ts";
import { inviteAdministrator, repairAdminClient } from "../../packages/edge-op/src/administrators.ts";
import { AdminApi } from "../../packages/edge-op/src/provider-api.ts";
import { Person } from "../../packages/edge-op/testing/person.ts";
import { parseEmailAddress } from "../../packages/shared/src/users/user-addresses.ts";
import { CommandLine } from "./fixtures/command-line.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";

/** docs/operating/getting-in.md: the way back, with the rows that `npm run admin-client` writes, in a deployment without mail and without sign-up. */
const by = "npm run admin-client";
const masterKey = () => provider.stores.masterKey;
const own = new CommandLine();
let provider: LocalProvider;

beforeAll(async () => {
  provider = await startLocalProvider();
});
afterAll(async () => {
  await provider.stop();
  own.remove();
});

const execute = (statements: readonly string[]) => provider.stores.execute(statements.map((sql) => ({ sql })));

test("all administrators are locked out: the repair gives the client a new secret, ends the lost one, lets a suspended person in; another one is invited", async () => {
  const { origin, issuer, admin } = provider;
  const api = new AdminApi(origin, admin);
  await api.require("PUT", "/roles/boss", { permissions: ["admin:users"] });
  const paul = { username: "paul", password: "violet harbour 82 lanterns" };
  await api.require("POST", "/users", { sub: "paul", ...paul, roles: ["boss"], status: "suspended" });
  await execute(["UPDATE clients SET status = 'disabled' WHERE client_id = 'admin'"]);

  const secret = "x".repeat(43);
  await execute(repairAdminClient(await adminClientRow(issuer, masterKey(), secret), by, Date.now()));
  await own.login(issuer, { client_id: "admin", client_secret: secret });
  await own.require("users", "update", "paul", "--status", "active");
  const lost = new CommandLine();
  await expect(lost.login(issuer, admin)).rejects.toThrow(": 3 ");
  lost.remove();
  const signIn = async (person: Person) => person.submit(await person.openPage("/account"));
  expect(await signIn(new Person(origin, paul))).toMatchObject({ name: "account" });

  const address = parseEmailAddress("maria@example.com")!;
  const invited = await inviteAdministrator(address, { issuer, masterKey: masterKey(), by, nowMs: Date.now() });
  await execute(invited.statements);
  const chosen = "copper meadow 17 sparrows";
  const maria = new Person(origin, { username: address.address, password: chosen });
  const create = await maria.submit(await maria.openPage(invited.link), { invitation: { name: "Maria" } });
  if (create.kind !== "page") throw new Error("no page to create the account");
  const password = { new: chosen, repeat: chosen };
  expect(await maria.submit(create, { "create-account": password })).toMatchObject({ name: "account" });
  const { json } = await own.require("users", "list", "--username", address.address, "--json");
  expect(json["users"]).toMatchObject([{ roles: ["administrator"] }]);
  const [repairs] = await execute([`SELECT sub FROM admin_events WHERE action = 'client.repair'`]);
  expect(repairs).toEqual([{ sub: by }]);
}, 60_000);
