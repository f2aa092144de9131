/**
 * **Creates the first admin client of a deployment by the button**, or gives it a new secret: no build has the master key, so this writes into the
 * database of the root `wrangler.toml` through `wrangler d1 execute`. Prints the secret once.
 */

import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { adminClientId, adminClientRow } from "../packages/edge-op/src/admin-client.ts";
import { repairAdminClient } from "../packages/edge-op/src/administrators.ts";
import { escapeStreams } from "../packages/edge-op/src/console/escape-output.ts";
import { runCommand } from "./steps.ts";

escapeStreams();

const usage = `OP_MASTER_KEY=… node scripts/with-toolchain.mjs scripts/create-button-admin-client.ts --issuer <https origin>

  OP_MASTER_KEY   the secret that was entered at the button; the client's secret is sealed with a key derived from it`;

const { issuer } = parseArgs({ options: { issuer: { type: "string" } } }).values;
const masterKey = process.env["OP_MASTER_KEY"];
if (issuer === undefined || !masterKey) {
  console.error(usage);
  process.exit(2);
}
const secret = randomBytes(32).toString("base64url");
const statements = repairAdminClient(
  await adminClientRow(issuer, masterKey, secret),
  "npm run admin-client",
  Date.now(),
);
const { code, output } = await runCommand("wrangler", [
  ...["d1", "execute", "DB", "--config", "wrangler.toml", "--remote", "--yes"],
  ...["--command", statements.join(";\n")],
]);
if (code !== 0) {
  console.error(output);
  process.exit(code);
}
console.log(`client_id      ${adminClientId}
client_secret  ${secret}

Store the secret: it is printed only once. Running this command again replaces it.`);
