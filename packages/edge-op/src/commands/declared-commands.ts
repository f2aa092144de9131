import { existsSync, writeFileSync } from "node:fs";
import { pageSettings } from "@edge-op/op-auth/runtime/deployment";
import type { Setting } from "@edge-op/shared/config/setting";
import { workerSettings } from "@edge-op/shared/config/settings";
import { type Connection, connect } from "../connection/connection.ts";
import { type Call, type Command, hasFlag, requireConsent, textOption, yesOption } from "../console/command.ts";
import { Failure, type Outcome, usageFailure } from "../console/failure.ts";
import { printable } from "../console/show.ts";
import { readDeclaration } from "../declared/declaration.ts";
import type { Difference } from "../declared/find-differences.ts";
import { type Change, makePlan, remainingDifferences } from "../declared/make-plan.ts";
import type { ApiDocument } from "../operations/api-document.ts";

/** A setting that is not what is declared. */
export interface SettingDifference {
  readonly setting: string;
  /** The text in force. */
  readonly from: string;
  readonly to: string;
}

export interface ComparedSettings {
  readonly settings: readonly SettingDifference[];
  /** Declared settings that the deployment does not report: those of pages. */
  readonly unreported: readonly string[];
}

const settings: readonly Setting[] = [...Object.values(workerSettings), ...Object.values(pageSettings)];

/**
 * **Compares declared settings with the deployment's.** They are variables of its Workers, so only `npm run deploy` changes them. Scope
 * `admin:shards`.
 */
export async function compareSettings(
  connection: Connection,
  declared: Readonly<Record<string, string>>,
): Promise<ComparedSettings> {
  if (Object.keys(declared).length === 0) return { settings: [], unreported: [] };
  const known = Object.entries(declared).map(([name, to]) => {
    const setting = settings.find(({ variable }) => variable === name);
    if (setting === undefined) throw usageFailure(`settings.${name}: there is no such variable of a Worker.`);
    try {
      setting.read(to);
    } catch (error) {
      throw usageFailure(`settings.${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
    return { name, to, fallback: setting.default };
  });
  const { body } = await connection.send({ method: "GET", path: "/deployment" });
  const reported = (body["settings"] ?? {}) as Readonly<Record<string, string | null>>;
  const isReported = ({ name }: { readonly name: string }) => Object.hasOwn(reported, name);
  return {
    settings: known.filter(isReported).flatMap(({ name, to, fallback }) => {
      const from = reported[name] ?? fallback ?? "";
      return from === to ? [] : [{ setting: name, from, to }];
    }),
    unreported: known.filter((each) => !isReported(each)).map(({ name }) => name),
  };
}

const fileArgument = { name: "path", description: "A file of JSON or YAML, or a folder of them." };
const notes = [
  "The members are clients, resources, roles, groups, issuers, upstreams, attributes and settings, each by name. What is not named stays; null removes a member or a whole record.",
  "Secrets of upstreams: client_secret_env or private_key_env names the environment variable, read when one is created or gets another client_id.",
  "Scopes: admin:clients, admin:users and admin:issuers for what is declared; admin:shards for settings.",
];

interface Plan extends ComparedSettings {
  readonly changes: readonly Change[];
}

/** **`edge-op plan`** and **`edge-op apply`**: a deployment as files. */
export function declaredCommands(document: ApiDocument): readonly Command[] {
  const plan = async (call: Call, connection: Connection): Promise<Plan> => {
    const declaration = readDeclaration(call.arguments["path"]!);
    const compared = await compareSettings(connection, declaration.settings);
    return { changes: await makePlan(connection, document, declaration), ...compared };
  };
  return [
    {
      words: ["plan"],
      summary: "Shows what would have to change for a deployment to be as its files say. Changes nothing.",
      arguments: [fileArgument],
      options: [{ name: "check", kind: "flag", description: "Exit with 1 if something differs." }],
      examples: ["edge-op plan edge-op.yaml", "edge-op plan deployments/production --check"],
      notes,
      async run(call): Promise<Outcome> {
        const made = await plan(call, connect(call));
        await print(call, made);
        return hasFlag(call, "check") && made.changes.length + made.settings.length > 0 ? "refused" : "done";
      },
    },
    {
      words: ["apply"],
      summary: "Makes a deployment as its files say, after it has shown what changes.",
      arguments: [fileArgument],
      options: [
        yesOption,
        {
          name: "keep-holders",
          kind: "flag",
          description:
            "Those who have a role or group already get its first admin scopes; otherwise such a change is refused.",
        },
        {
          name: "secrets",
          kind: "text",
          description:
            "A new file for the secrets of new clients, which only you can read; by default they are printed.",
        },
      ],
      examples: ["edge-op apply edge-op.yaml", "edge-op apply deployments/production --yes --secrets new-secrets.json"],
      notes: [
        ...notes,
        "Each change is made only to the version that was shown: of two at the same time, one fails with exit code 7. Applying twice changes nothing.",
      ],
      run: (call) => apply(call, document, plan),
    },
  ];
}

async function apply(
  call: Call,
  document: ApiDocument,
  plan: (call: Call, connection: Connection) => Promise<Plan>,
): Promise<void> {
  const secretFile = textOption(call, "secrets");
  if (secretFile !== undefined && existsSync(secretFile)) throw usageFailure(`${secretFile} exists: name a new file.`);
  const connection = connect(call);
  const made = await plan(call, connection);
  const changes = hasFlag(call, "keep-holders") ? made.changes.map(keepHolders) : made.changes;
  if (!call.json) await print(call, made);
  if (changes.length > 0) await requireConsent(call, `Change ${connection.issuer}?`);
  const keep = (secrets: Readonly<Record<string, string>>) => {
    if (secretFile === undefined || Object.keys(secrets).length === 0) return secrets;
    writeFileSync(secretFile, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600, flag: "wx" });
    return {};
  };
  try {
    const progress = ({ kind, name, action }: Change) =>
      call.json || call.terminal.note(`${action}d ${printable(`${kind.name}.${name}`)}\n`);
    const { secrets, remaining } = await applyChanges(
      connection,
      document,
      changes,
      call.terminal.environment,
      progress,
    );
    const shown = keep(secrets);
    if (call.json) {
      await call.terminal.write(`${JSON.stringify({ ...described(made), secrets: shown, remaining }, null, 2)}\n`);
      return;
    }
    await printSecrets(call, shown);
    for (const [name, differences] of Object.entries(remaining)) {
      call.terminal.note(
        `${printable(name)}: the provider stores this differently; declare it so:\n${differences.map(reversed).join("")}`,
      );
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // The secrets of clients that were created before the failure cannot be read again.
    const shown = keep((error.detail["secrets"] ?? {}) as Readonly<Record<string, string>>);
    await printSecrets(call, shown);
    throw new Failure(error.outcome, error.message, { ...error.detail, secrets: shown }, { cause: error });
  }
}

/** Roles and groups are the kinds that people hold. */
function keepHolders(change: Change): Change {
  const { kind, action, request } = change;
  if (!["roles", "groups"].includes(kind.name) || action === "delete") return change;
  return { ...change, request: { ...request, body: { ...(request.body as object), keep_holders: true } } };
}

async function printSecrets({ terminal, json }: Call, secrets: Readonly<Record<string, string>>): Promise<void> {
  if (json) return;
  for (const [id, secret] of Object.entries(secrets))
    await terminal.write(`client_secret of ${printable(id)}: ${printable(secret)}\n`);
}

function described({ changes, ...compared }: Plan) {
  return {
    changes: changes.map(({ kind, name, action, differences }) => ({ kind: kind.name, name, action, differences })),
    ...compared,
  };
}

async function print(call: Call, plan: Plan): Promise<void> {
  const { terminal, json } = call;
  if (json) return terminal.write(`${JSON.stringify(described(plan), null, 2)}\n`);
  for (const { kind, name, action, differences } of plan.changes) {
    await terminal.write(`${action} ${printable(`${kind.name}.${name}`)}\n${differences.map(line).join("")}`);
  }
  for (const { setting, from, to } of plan.settings) {
    await terminal.write(`differs settings.${setting}\n  ~ ${printable(from)} → ${printable(to)}\n`);
  }
  const count = (action: Change["action"]) => plan.changes.filter((change) => change.action === action).length;
  await terminal.write(`${count("create")} to create, ${count("update")} to update, ${count("delete")} to delete.\n`);
  if (plan.unreported.length > 0)
    terminal.note(`Not compared, because the deployment does not report them: ${plan.unreported.join(", ")}\n`);
  if (plan.settings.length > 0) {
    await terminal.write(
      "Settings are variables of the deployment: write them into its environment file and run npm run deploy.\n",
    );
  }
}

function line({ path: member, from, to }: Difference): string {
  const path = printable(member);
  const text = (value: unknown) => printable(JSON.stringify(value) ?? "");
  if (from === undefined) return `  + ${path}: ${text(to)}\n`;
  return to === null ? `  - ${path}: ${text(from)}\n` : `  ~ ${path}: ${text(from)} → ${text(to)}\n`;
}

function reversed({ path, from, to }: Difference): string {
  return line({ path, from: to, to: from ?? null });
}

export interface Applied {
  /** Secrets of new clients, by `client_id`. They cannot be read again. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Members that the provider stores in another form than declared, by `kind.name`. */
  readonly remaining: Readonly<Record<string, readonly Difference[]>>;
}

/**
 * **Makes the changes of a plan, one after the other.** Each changes only the version that the plan has read, so of two at once one is refused. It
 * stops at the first failure, whose detail has the secrets of clients that were created before it; applying again continues. Before the first one, it
 * reads the secrets that the changes need from environment variables.
 */
export async function applyChanges(
  connection: Connection,
  document: ApiDocument,
  changes: readonly Change[],
  environment: Readonly<Record<string, string | undefined>>,
  onProgress: (change: Change) => void,
): Promise<Applied> {
  const secrets: Record<string, string> = {};
  const remaining: Record<string, readonly Difference[]> = {};
  const given = changes.map((change) => ({ ...change.request, body: withSecrets(change, environment) }));
  for (const [made, change] of changes.entries()) {
    const name = `${change.kind.name}.${change.name}`;
    try {
      const { body } = await connection.send(given[made]!);
      if (typeof body["client_secret"] === "string") secrets[change.name] = body["client_secret"];
      const left = change.action === "delete" ? [] : remainingDifferences(document, change, body);
      if (left.length > 0) remaining[name] = left;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const advice = adviceFor(error);
      const message = `${name}: ${error.message}\n${made} of ${changes.length} changes are made. ${advice}`;
      throw new Failure(error.outcome, message, { ...error.detail, made, secrets }, { cause: error });
    }
    onProgress(change);
  }
  return { secrets, remaining };
}

function adviceFor({ outcome, message }: Failure): string {
  if (outcome === "conflict") return "It was changed after it was read. Apply again to continue.";
  if (message.includes("keep_holders")) return "Apply with --keep-holders if they shall have them.";
  return outcome === "refused" ? "Change the declaration, and apply again to continue." : "Apply again to continue.";
}

/** The body of a request with its secrets. */
function withSecrets(
  { kind, name, request: { body }, secrets = {} }: Change,
  environment: Readonly<Record<string, string | undefined>>,
): unknown {
  const values = Object.entries(secrets).map(([member, variable]) => {
    const value = environment[variable];
    if (value === undefined || value === "")
      throw usageFailure(`${kind.name}.${name}: the environment variable ${variable} is not set. Nothing was changed.`);
    return [member, value];
  });
  return values.length === 0 ? body : { ...(body as object), ...Object.fromEntries(values) };
}
