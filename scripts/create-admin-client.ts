import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { adminClientId, adminClientRow, writeAdminClient } from "../packages/local-provider/src/admin-client.ts";
import { runCommand } from "./steps.ts";

/**
 * **`npm run admin-client`**: creates the first admin client of a deployment, or gives it a new secret, by SQL through
 * `wrangler d1 execute`. This needs write access to the deployment's database. Prints the secret once. `--local` and `--env` are
 * passed to wrangler.
 */
const usage = `OP_MASTER_KEY=… npm run admin-client -- --issuer https://op.example.com [--local] [--env <name>]

  OP_MASTER_KEY   the Workers' secret; the MAC of the client's secret uses a key derived from it
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
  ...["d1", "execute", "DB", "--config", "packages/op/wrangler.toml", local ? "--local" : "--remote"],
  ...(env === undefined ? [] : ["--env", env]),
  ...["--command", writeAdminClient(row, Date.now()).join(";\n")],
]);
if (code !== 0) {
  console.error(output);
  process.exit(code);
}
console.log(`client_id      ${adminClientId}
client_secret  ${secret}

Store the secret: it is printed only once. Running this command again replaces it. The new secret works at once; the old one is
refused everywhere after the next administrative change, at the latest after two hours.`);
