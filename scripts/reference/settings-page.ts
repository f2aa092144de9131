import { pageSettings } from "../../packages/op-auth/src/runtime/deployment.ts";
import { platformSettings } from "../../packages/shared/src/config/deployment-settings.ts";
import type { SettingTable } from "../../packages/shared/src/config/setting.ts";
import { workerSettings } from "../../packages/shared/src/config/settings.ts";
import type { MasterKeyBindings } from "../../packages/shared/src/secrets/master-key.ts";
import { generatedNotice, table } from "./markdown.ts";

/** A record, so that adding a secret or limit without a description is a type error. */
const secrets: Readonly<Record<keyof MasterKeyBindings, string>> = {
  OP_MASTER_KEY:
    "Required. Every key of the provider that is not a signing key is derived from it, and signing keys are wrapped with it ([protocols §4](protocols.md#4-keys)).",
  OP_MASTER_KEY_PREVIOUS:
    "Only while `OP_MASTER_KEY` is being replaced: read with, never made with ([rotate keys](../operating/rotate-keys.md)).",
  OP_PAIRWISE_KEY:
    "The key that pairwise subjects are derived from, permanently. Without it: `OP_MASTER_KEY`; set it to that value before `OP_MASTER_KEY` is replaced for the first time.",
};

const mailSecrets = [
  ["`RESEND_API_KEY`", "`op-state`", "The key of Resend's API, for `MAIL_PROVIDER` `resend`; one that may only send."],
  [
    "`RESEND_WEBHOOK_SECRET`",
    "`op-management`",
    "The signing secret of the webhook, `whsec_…`. Without it, `/mail/events` does not exist.",
  ],
];

/** **`docs/reference/settings.md`**, generated from the definitions by which the Workers parse their variables. */
export function settingsPage(): string {
  return `# Settings

${generatedNotice("the settings' definitions (`settings.ts`, `deployment-settings.ts`, `branding.ts`, `deployment.ts`)")}

In a deployment, settings are members of \`settings\` in the environment's file, \`deployments/<environment>.ts\`
([deploy](../operating/deploy.md#configure)); an absent one has its default. \`npm run deploy\` refuses unknown names and values that are not accepted
before it changes anything, and makes the Workers' variables from them. A variable that is wrong all the same, because it was set in the dashboard,
fails every request with a log line that names it. Local runs read them from the environment: \`REVOCATION_MODE=direct npm start\`.

## Every Worker

All Workers are given the same values. \`ISSUER\` is the member \`issuer\` of the environment's file, not one of \`settings\`.

${settingsTable(workerSettings)}

## \`op-auth\`

${settingsTable(pageSettings)}

## Deployment

No variables: \`npm run deploy\` writes them into the configuration of the Workers. Rate limits are counted by location, and approximate; a refused
request is 429 \`rate_limited\` with \`Retry-After\`. Not settings, because another value would be wrong: \`preview_urls = false\` (a preview would
serve the same state under another origin), \`observability.redact_query_string = true\` and \`invocation_logs = false\` (URLs and headers contain
codes and tokens).

${settingsTable(platformSettings)}

## Secrets

Sent by \`npm run deploy\` and \`npm run deploy -- secrets\` to every Worker but \`op\`. Each is 32 random bytes, base64url without padding.

${table(["Secret", "Meaning"], describedRows(secrets))}

Optional, for [mail](../operating/mail.md); set each with \`wrangler secret put\`:

${table(["Secret", "Worker", "Meaning"], mailSecrets)}
`;
}

function settingsTable(settings: SettingTable): string {
  const rows = Object.values(settings).map((setting) => [
    `\`${setting.variable}\``,
    setting.default === undefined ? "" : `\`${setting.default}\``,
    setting.unit === undefined ? setting.accepts : `${setting.accepts} ${setting.unit}`,
    setting.meaning,
  ]);
  return table(["Variable", "Default", "Accepted", "Meaning"], rows);
}

function describedRows(descriptions: Readonly<Record<string, string>>): string[][] {
  return Object.entries(descriptions).map(([name, meaning]) => [`\`${name}\``, meaning]);
}
