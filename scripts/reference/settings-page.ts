import { deploymentDefinitions } from "../../packages/op-auth/src/deployment.ts";
import type { SettingDescription } from "../../packages/shared/src/config/setting.ts";
import { settingDefinitions } from "../../packages/shared/src/config/settings.ts";
import type { RateLimitBindings } from "../../packages/shared/src/http/rate-limit.ts";
import type { MasterKeyBindings } from "../../packages/shared/src/secrets/master-key.ts";
import { generatedNotice, table } from "./markdown.ts";

/** Records, so that a secret or a limit which is added and not described is a type error. */
const secrets: Readonly<Record<keyof MasterKeyBindings, string>> = {
  OP_MASTER_KEY:
    "Required. Every key of the provider that is not a signing key is derived from it, and signing keys are wrapped with it ([protocols §4](protocols.md#4-keys)).",
  OP_MASTER_KEY_PREVIOUS:
    "Only while `OP_MASTER_KEY` is being replaced: read with, never made with ([rotate keys](../operating/rotate-keys.md)).",
  OP_PAIRWISE_KEY:
    "The key that pairwise subjects are derived from, for good. Without it: `OP_MASTER_KEY`; set it to that value before `OP_MASTER_KEY` is replaced for the first time.",
};

const rateLimits: Readonly<Record<keyof RateLimitBindings, string>> = {
  CLIENT_RATE_LIMIT: "Requests of one authenticated client at one endpoint.",
  FAILED_AUTHENTICATION_RATE_LIMIT: "Failed client authentications of one address.",
  ADDRESS_RATE_LIMIT:
    "Requests of one address to `/authorize`, `/logout` and `/account`. Raise it where thousands of people share an address.",
};

/** **`docs/reference/settings.md`**, made from the definitions that the Workers parse their variables by. */
export function settingsPage(): string {
  return `# Settings

${generatedNotice("the settings' definitions (`packages/shared/src/config/settings.ts`, `packages/pages/src/branding.ts`, `packages/op-auth/src/deployment.ts`)")}

Settings are variables of the Workers: \`[vars]\` in the wrangler files, or the dashboard. An absent or empty variable has its default. A value that is not
accepted fails every request with a log line that names the variable; \`npm run deploy\` and \`npm run check\` refuse it before.

## Every Worker

All Workers are given the same values; \`npm run deploy\` and \`npm run check\` compare the wrangler files.

${settingsTable(settingDefinitions)}

## \`op-auth\`

${settingsTable(deploymentDefinitions)}

## Secrets

\`wrangler secret put\`, for every Worker but \`op\`. Each is 32 random bytes, base64url without padding.

${table(["Secret", "Meaning"], describedRows(secrets))}

## Rate limits

\`[[ratelimits]]\` in the wrangler files. They are counted by location, and approximate. A binding that is absent limits nothing. A refused request
is 429 \`rate_limited\` with \`Retry-After\`.

${table(["Binding", "Counts"], describedRows(rateLimits))}
`;
}

function settingsTable(definitions: Readonly<Record<string, SettingDescription>>): string {
  const rows = Object.entries(definitions).map(([name, setting]) => [
    `\`${name}\``,
    setting.default === undefined ? "" : `\`${setting.default}\``,
    setting.unit === undefined ? setting.accepts : `${setting.accepts} ${setting.unit}`,
    setting.meaning,
  ]);
  return table(["Variable", "Default", "Accepted", "Meaning"], rows);
}

function describedRows(descriptions: Readonly<Record<string, string>>): string[][] {
  return Object.entries(descriptions).map(([name, meaning]) => [`\`${name}\``, meaning]);
}
