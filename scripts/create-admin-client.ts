/**
 * **`npm run admin-client`**: gives the first admin client of a deployment a new secret, or creates it again, in the deployment's database. `npm run
 * deploy` creates it the first time. Prints the secret once.
 */

import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { adminClientId, adminClientRow, writeAdminClient } from "../packages/edge-op/src/admin-client.ts";
import { deploymentsDirectory, generatedDirectory, loadEnvironment } from "./deploy/environment-files.ts";
import { Refusal } from "./deploy/refusal.ts";
import { openSession, query, refuseConflicts } from "./deploy/session.ts";

const usage = `OP_MASTER_KEY=… npm run admin-client [-- --environment <name>] [--account <id>] [--deployments <path>]

  OP_MASTER_KEY   the deployment's secret; the MAC of the client's secret uses a key derived from it`;

const { values } = parseArgs({
  options: {
    environment: { type: "string", default: "production" },
    account: { type: "string" },
    deployments: { type: "string" },
  },
});
const masterKey = process.env["OP_MASTER_KEY"];
if (!masterKey) {
  console.error(usage);
  process.exit(2);
}

async function replaceAdminSecret(key: string): Promise<string> {
  const directory = deploymentsDirectory(values.deployments);
  const environment = await loadEnvironment(directory, values.environment);
  const generated = generatedDirectory(directory, environment.name);
  const session = await openSession(environment, generated, {
    account: values.account,
    origin: undefined,
    verbose: false,
  });
  // With another key than the deployment's, no Worker would accept the secret.
  refuseConflicts(session);
  const database = session.inventory.databases.get(session.names.databases["DB"]!);
  if (database === undefined) throw new Refusal([`The environment "${environment.name}" has not been deployed.`]);
  const secret = randomBytes(32).toString("base64url");
  const row = await adminClientRow(session.issuer, key, secret);
  await query(session, database, writeAdminClient(row, Date.now()).join(";\n"));
  return secret;
}

try {
  const secret = await replaceAdminSecret(masterKey);
  console.log(`client_id      ${adminClientId}
client_secret  ${secret}

Store the secret: it is printed only once. Running this command again replaces it. The new secret works at once; the old one is
refused everywhere after the next administrative change, at the latest after two hours.`);
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(`${error.reasons.join("\n")}\n\nNothing was changed.`);
  process.exit(2);
}
