/**
 * **`npm run admin-client`**: the way in when nobody can administer a deployment any more. It gives the first admin client a new secret, or creates
 * it again, in the deployment's database, or invites a person as an administrator. Prints the secret or the link once.
 */

import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { adminClientId, adminClientRow } from "../packages/edge-op/src/admin-client.ts";
import { inviteAdministrator, repairAdminClient } from "../packages/edge-op/src/administrators.ts";
import { escapeStreams } from "../packages/edge-op/src/console/escape-output.ts";
import { type EmailAddress, parseEmailAddress } from "../packages/shared/src/users/user-addresses.ts";
import { deploymentsDirectory, generatedDirectory, loadEnvironment } from "./deploy/environment-files.ts";
import { Refusal } from "./deploy/refusal.ts";
import { openSession, query, refuseConflicts } from "./deploy/session.ts";

escapeStreams();

const usage = `OP_MASTER_KEY=… npm run admin-client [-- --environment <name>] [--account <id>] [--deployments <path>]

  OP_MASTER_KEY       the deployment's secret; the client's secret is sealed with a key derived from it
  --invite <address>  invite a person as an administrator instead (docs/operating/getting-in.md)`;

const command = "npm run admin-client";

function readValues() {
  try {
    return parseArgs({
      options: {
        environment: { type: "string", default: "production" },
        account: { type: "string" },
        deployments: { type: "string" },
        invite: { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exit(2);
  }
}

const values = readValues();
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const masterKey = process.env["OP_MASTER_KEY"];
const invited = values.invite === undefined ? undefined : parseEmailAddress(values.invite);
if (!masterKey || (values.invite !== undefined && invited === undefined)) {
  console.error(usage);
  process.exit(2);
}

/** Opens the deployment's database, and runs the statements in one transaction. */
async function change(statementsFor: (issuer: string) => Promise<readonly string[]>): Promise<void> {
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
  await query(session, database, (await statementsFor(session.issuer)).join(";\n"));
}

async function replaceSecret(key: string): Promise<string> {
  const secret = randomBytes(32).toString("base64url");
  await change(async (issuer) => repairAdminClient(await adminClientRow(issuer, key, secret), command, Date.now()));
  return `client_id      ${adminClientId}
client_secret  ${secret}

Store the secret: it is printed only once. Running this command again replaces it. The new secret works at once; the old one is
refused everywhere after the next administrative change, at the latest after two hours.`;
}

async function invite(address: EmailAddress, key: string): Promise<string> {
  let link = "";
  await change(async (issuer) => {
    const made = await inviteAdministrator(address, { issuer, masterKey: key, by: command, nowMs: Date.now() });
    link = made.link;
    return made.statements;
  });
  return `Give this link to ${address.address} alone. It works once, for a day:

  ${link}`;
}

try {
  console.log(invited === undefined ? await replaceSecret(masterKey) : await invite(invited, masterKey));
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(`${error.reasons.join("\n")}\n\nNothing was changed.`);
  process.exit(2);
}
