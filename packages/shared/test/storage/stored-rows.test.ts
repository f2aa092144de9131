import { expect, it } from "vitest";
import { useFreshDeployment } from "../../../../test/fixtures/fresh-deployment.ts";
import { leastMetadata } from "../../../../test/fixtures/seed.ts";
import { ClientDirectory } from "../../src/clients/client-directory.ts";
import { ControlView } from "../../src/control/control-view.ts";
import { IssuerDirectory } from "../../src/issuers/issuer-directory.ts";
import { ResourceDirectory } from "../../src/resources/resource-directory.ts";
import { UserDirectory } from "../../src/users/user-directory.ts";
import { sharedEnv, withinRequest } from "../fixtures/request-fixtures.ts";

useFreshDeployment();

const control = new ControlView();
const issuer = { algorithms: ["ES256"], max_token_lifetime: 3600, reusable_assertions: false, rules: [] };
const resource = { name: "Files", scopes: [], clients: "any" };

/** How each kind of record is stored under the id `it`, whether it can be read, and a document that another program may have written. */
const kinds = {
  clients: {
    insert: "INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms) VALUES ('it', ?1, 0, 0)",
    directory: new ClientDirectory(control),
    valid: leastMetadata,
    wrong: { ...leastMetadata, redirect_uris: "https://app.example/" },
  },
  users: {
    insert:
      "INSERT INTO users (sub, username, username_key, claims, created_at_ms, updated_at_ms) VALUES ('it', 'it', 'it', ?1, 0, 0)",
    directory: new UserDirectory(control),
    valid: {},
    wrong: [],
  },
  resources: {
    insert:
      "INSERT INTO resources (identifier, resource_id, metadata, created_at_ms, updated_at_ms) VALUES ('it', 'it', ?1, 0, 0)",
    directory: new ResourceDirectory(control),
    valid: resource,
    wrong: { ...resource, clients: [1] },
  },
  issuers: {
    insert:
      "INSERT INTO trusted_issuers (issuer_id, issuer, document, created_at_ms, updated_at_ms) VALUES ('it', 'it', ?1, 0, 0)",
    directory: new IssuerDirectory(control),
    valid: issuer,
    wrong: { ...issuer, rules: [{ rule_id: "all", claims: {} }] },
  },
};

it.each(Object.entries(kinds))("%s: a row of another form is unavailable, and never a record", async (_, kind) => {
  const store = (document: unknown) => sharedEnv.DB.prepare(kind.insert).bind(JSON.stringify(document)).run();
  const find = () => withinRequest<object | undefined>((context) => kind.directory.find(context, "it"));
  await store(kind.wrong);
  await expect(find()).rejects.toMatchObject({ store: "D1" });
  await sharedEnv.DB.exec(
    "DELETE FROM clients; DELETE FROM users; DELETE FROM resources; DELETE FROM trusted_issuers;",
  );
  await store(kind.valid);
  expect((await find()).result).toBeDefined();
});
