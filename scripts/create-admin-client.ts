import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { adminClientId, adminClientRow, writeAdminClient } from "../packages/local-provider/src/admin-client.ts";
import { runCommand } from "./steps.ts";

/**
 * **`npm run admin-client`**: creates the first admin client of a deployment, or gives it a new secret, by SQL through
 * `wrangler d1 execute`: whoever may do that owns the deployment. Prints the secret once. What other arguments there are go to
 * wrangler (`--local`, `--env production`).
 */
const usage = `OP_MASTER_KEY=… npm run admin-client -- --issuer https://op.example.com [--local] [--env <name>]

  OP_MASTER_KEY   the secret that the Workers have: the client's secret is stored under a key derived from it
  --issuer        the deployment's ISSUER`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      issuer: { type: "string" },
      env: { type: "string" },
      local: { type: "boolean", default: false },
    },
  });
  const masterKey = process.env.OP_MASTER_KEY;
  if (values.issuer === undefined || masterKey === undefined) {
    console.error(usage);
    process.exit(2);
  }
  return { ...values, issuer: values.issuer, masterKey };
}

const { issuer, env, local, masterKey } = readOptions();
const secret = randomBytes(32).toString("base64url");
const row = await adminClientRow(issuer, masterKey, secret);
const { code, output } = await runCommand("wrangler", [
  ...["d1", "execute", "DB", "--config", "wrangler.toml", local ? "--local" : "--remote"],
  ...(env === undefined ? [] : ["--env", env]),
  ...["--command", writeAdminClient(row, Date.now()).join(";\n")],
]);
if (code !== 0) {
  console.error(output);
  process.exit(code);
}
console.log(`client_id      ${adminClientId}
client_secret  ${secret}

Keep the secret: it is shown this once. Running this again replaces it: the new one works at once, and the one it replaces
stops everywhere with the next administrative change, at the latest after two hours.`);
