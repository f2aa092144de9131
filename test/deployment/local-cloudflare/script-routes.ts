/** **Workers**: uploads, versions, deployments, secrets, settings. */

import { randomUUID } from "node:crypto";
import { findFreePort } from "../../../packages/edge-op/src/free-port.ts";
import {
  type AccountState,
  type Binding,
  runningVersion,
  type Script,
  type UploadMetadata,
  type Version,
} from "./account-state.ts";
import { ApiFault, type ApiRoute, route } from "./api-call.ts";
import type { LocalCloudflare } from "./local-cloudflare.ts";
import { accountOf, objectBody } from "./store-routes.ts";

function findScript(local: LocalCloudflare, parts: Readonly<Record<string, string>>): Script {
  const script = accountOf(local, parts.account).scripts.get(parts.script!);
  if (script === undefined) throw new ApiFault(404, 10007, "This Worker does not exist on your account.");
  return script;
}

/** Everything that the upload inherits from the previous version. */
function inheritedBindings(before: Version | undefined, metadata: UploadMetadata): Binding[] {
  const own = metadata.bindings ?? [];
  const kept = new Set(metadata.keep_bindings ?? []);
  const inherited = (before?.bindings ?? []).filter(
    ({ name, type }) => kept.has(type) && !own.some((binding) => binding.name === name),
  );
  const given = own.map((binding) =>
    binding.type === "inherit" ? (before?.bindings.find(({ name }) => name === binding.name) ?? binding) : binding,
  );
  return [...given, ...inherited];
}

async function addVersion(account: AccountState, name: string, form: unknown): Promise<Version> {
  if (!(form instanceof FormData)) throw new ApiFault(400, 10021, "an upload is a form");
  const metadata = JSON.parse(String(form.get("metadata"))) as UploadMetadata;
  const parts = [...form.entries()].filter(([part]) => part !== "metadata");
  const modules = await Promise.all(
    parts
      .filter(([part]) => part.endsWith(".js"))
      .map(async ([part, content]) => ({
        name: part,
        text: typeof content === "string" ? content : await content.text(),
      })),
  );
  const script: Script = account.scripts.get(name) ?? {
    name,
    migrationTag: undefined,
    subdomainEnabled: false,
    port: await findFreePort("127.0.0.1"),
    versions: [],
    deployments: [],
    crons: [],
    settings: {},
  };
  const version = {
    id: randomUUID(),
    metadata,
    modules: modules.sort((a) => (a.name === metadata.main_module ? -1 : 1)),
    bindings: inheritedBindings(script.versions.at(-1), metadata),
  };
  script.versions.push(version);
  script.migrationTag = metadata.migrations?.new_tag ?? script.migrationTag;
  account.scripts.set(name, script);
  return version;
}

/** The version that most requests reach serves all of them here. */
function deploy(
  local: LocalCloudflare,
  script: Script,
  versionId: string,
  codeUpdateStrategy: unknown,
  versions = [{ version_id: versionId, percentage: 100 }],
): string {
  const id = randomUUID();
  script.deployments.push({ id, versionId, codeUpdateStrategy, versions });
  local.workers.change();
  return id;
}

/** Changes secrets as a separate version, like the platform. */
function setSecrets(local: LocalCloudflare, script: Script, changes: Readonly<Record<string, string | null>>): void {
  const before = script.versions.at(-1)!;
  const bindings = [
    ...before.bindings.filter(({ name }) => !Object.hasOwn(changes, name)),
    ...Object.entries(changes).flatMap(([name, text]) => (text === null ? [] : [{ name, type: "secret_text", text }])),
  ];
  const version = { ...before, id: randomUUID(), bindings };
  script.versions.push(version);
  deploy(local, script, version.id, undefined);
}

function shownBindings(script: Script): Binding[] {
  return (runningVersion(script)?.bindings ?? []).map(({ text, ...binding }) =>
    binding.type === "secret_text" || text === undefined ? binding : { ...binding, text },
  );
}

function toService(script: Script) {
  return {
    id: script.name,
    default_environment: {
      environment: "production",
      script: {
        id: script.name,
        tag: script.name,
        tags: [],
        last_deployed_from: "wrangler",
        migration_tag: script.migrationTag,
      },
    },
  };
}

const account = "/accounts/{account}";
const script = `${account}/workers/scripts/{script}`;

export const scriptRoutes: readonly ApiRoute[] = [
  route("GET", `${account}/workers/scripts`, (local, _request, parts) =>
    [...accountOf(local, parts.account).scripts.values()].map(({ name, migrationTag }) => ({
      id: name,
      migration_tag: migrationTag,
    })),
  ),
  route("GET", `${account}/workers/services/{script}`, (local, _request, parts) => toService(findScript(local, parts))),
  route("GET", `${account}/workers/services/{script}/environments/production`, (local, _request, parts) => ({
    environment: "production",
    script: toService(findScript(local, parts)).default_environment.script,
  })),
  route("PUT", script, async (local, { body }, parts) => {
    const owner = accountOf(local, parts.account);
    const version = await addVersion(owner, parts.script!, body);
    const uploaded = owner.scripts.get(parts.script!)!;
    const deploymentId = deploy(local, uploaded, version.id, version.metadata.code_update_strategy);
    return {
      id: uploaded.name,
      etag: version.id,
      deployment_id: deploymentId,
      startup_time_ms: 1,
      entry_point: "index.js",
    };
  }),
  route("POST", `${script}/versions`, async (local, { body }, parts) => {
    const owner = accountOf(local, parts.account);
    const { migrationTag } = findScript(local, parts);
    const version = await addVersion(owner, parts.script!, body);
    const resources = { script: { etag: version.id, handlers: ["fetch"] }, script_runtime: {}, bindings: [] };
    return { id: version.id, startup_time_ms: 1, metadata: {}, number: 1, migration_tag: migrationTag, resources };
  }),
  route("GET", `${script}/versions`, (local, _request, parts) => ({
    items: findScript(local, parts).versions.map(({ id }, index) => ({ id, number: index + 1, metadata: {} })),
  })),
  route("GET", `${script}/versions/{version}`, (local, _request, parts) => {
    const found = findScript(local, parts).versions.find(({ id }) => id === parts.version);
    if (found === undefined) throw new ApiFault(404, 10007, "no such version");
    return {
      id: found.id,
      metadata: {},
      annotations: {},
      resources: { bindings: found.bindings, script: {}, script_runtime: {} },
    };
  }),
  route("POST", `${script}/deployments`, (local, request, parts) => {
    const { versions, code_update_strategy: strategy } = objectBody(request) as {
      versions: { version_id: string; percentage: number }[];
      code_update_strategy?: unknown;
    };
    if (versions.reduce((sum, { percentage }) => sum + percentage, 0) !== 100)
      throw new ApiFault(400, 10211, "the percentages are not 100");
    const [most] = versions.toSorted((one, other) => other.percentage - one.percentage);
    const id = deploy(local, findScript(local, parts), most!.version_id, strategy, versions);
    return { id };
  }),
  route("GET", `${script}/deployments`, (local, _request, parts) => ({
    deployments: findScript(local, parts)
      .deployments.toReversed()
      .map(({ id, versions }) => ({
        id,
        source: "wrangler",
        strategy: "percentage",
        created_on: "2026-11-22T08:00:00Z",
        versions,
      })),
  })),
  route("GET", `${script}/settings`, (local, _request, parts) => ({
    bindings: shownBindings(findScript(local, parts)),
  })),
  route("GET", `${script}/bindings`, (local, _request, parts) => shownBindings(findScript(local, parts))),
  route("GET", `${script}/secrets`, (local, _request, parts) =>
    shownBindings(findScript(local, parts)).flatMap(({ name, type }) =>
      type === "secret_text" ? [{ name, type }] : [],
    ),
  ),
  route("PATCH", `${script}/secrets-bulk`, (local, request, parts) => {
    const { secrets } = objectBody(request) as { secrets: Record<string, { text: string } | null> };
    const texts = Object.entries(secrets).map(([name, value]): [string, string | null] => [name, value?.text ?? null]);
    setSecrets(local, findScript(local, parts), Object.fromEntries(texts));
    return null;
  }),
  route("PATCH", `${script}/script-settings`, (local, request, parts) => {
    const found = findScript(local, parts);
    found.settings = { ...found.settings, ...objectBody(request) };
    return found.settings;
  }),
  route("GET", `${script}/script-settings`, (local, _request, parts) => findScript(local, parts).settings),
  route("PUT", `${script}/schedules`, (local, { body }, parts) => {
    const found = findScript(local, parts);
    found.crons = (body as { cron: string }[]).map(({ cron }) => cron);
    return { schedules: found.crons.map((cron) => ({ cron })) };
  }),
  route("GET", `${script}/subdomain`, (local, _request, parts) => ({
    enabled: findScript(local, parts).subdomainEnabled,
    previews_enabled: false,
  })),
  route("POST", `${script}/subdomain`, (local, request, parts) => {
    const found = findScript(local, parts);
    found.subdomainEnabled = objectBody(request)["enabled"] === true;
    return { enabled: found.subdomainEnabled, previews_enabled: objectBody(request)["previews_enabled"] };
  }),
  route("GET", `${account}/workers/workers/{script}`, (local, _request, parts) => {
    const { name, subdomainEnabled } = findScript(local, parts);
    return { id: name, name, subdomain: { enabled: subdomainEnabled, previews_enabled: false } };
  }),
  route("GET", `${account}/workers/subdomain`, (local, _request, parts) => ({
    subdomain: accountOf(local, parts.account).subdomain,
  })),
  route("DELETE", script, (local, _request, parts) => {
    const owner = accountOf(local, parts.account);
    findScript(local, parts);
    owner.scripts.delete(parts.script!);
    local.workers.change();
    return null;
  }),
];
