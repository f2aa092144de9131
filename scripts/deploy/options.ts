import { parseArgs } from "node:util";
import { type EmailAddress, parseEmailAddress } from "../../packages/shared/src/users/user-addresses.ts";
import type { EnvironmentFile } from "./environment.ts";

const usage = `npm run deploy -- [command] [options]

  (no command)          deploy an environment, or upgrade it
  init                  create the environment's file, and nothing else
  status                versions, ids, fingerprints, shards, and what differs from the environment's file
  secrets               replace the master key, one step (docs/operating/rotate-keys.md)
  tail [worker]         show the log as it is written; separate Workers are named: token, management, state, …
  rollback [version] [worker]  serve an earlier version of a Worker; without a version, list them
  upload [worker]       a version of a Worker of this checkout, which serves nothing yet (docs/operating/rollback.md)
  share <version> <percent> [worker]  the share of the requests that a version gets, up to 100
  restore [backup]      replace the database by a backup of the bucket or of a folder; without a name, list them
  open-backup <backup> [file]  verify a backup, and write the SQL that restores it
  time-travel <time>    set the database back to a time of the last 30 days, or to a bookmark
  destroy               delete an environment with everything that it stores

  --issuer <origin>     https://op.example.com, on a zone of the account; for the first deployment
  --workers-dev         an address under workers.dev instead
  --separate            a Worker for each endpoint instead of one for all (docs/operating/shapes.md)
  --environment <name>  production by default; its file is deployments/<name>.ts
  --account <id>        if the token can use several accounts
  --prefix <text>       what all names begin with; op, or op-<environment>
  --region <hint>       where objects and the database are created: wnam, enam, sam, weur, eeur, apac, oc, afr, me
  --jurisdiction eu     objects and databases stay in the European Union; us: in the United States
  --administrator <address>  with the first deployment: print the link by which this person becomes an administrator
  --take-over <what>    agree to what a refusal names: to replace something that exists, or to end a lock; can be repeated
  --dry-run             print the plan; no network
  --skip-verification   do not run a client against the deployment
  --origin <url>        reach the provider here, where the issuer's name does not resolve
  --audit               with time-travel: the audit database instead
  --confirm <name>      destroy, restore, set, roll back or share without questions
  --deployments <path>  another directory for the environments' files
  --verbose             print wrangler's output`;

/** The number of arguments that a command needs, and has at most. */
const commands = {
  deploy: [0, 0],
  init: [0, 0],
  status: [0, 0],
  secrets: [0, 0],
  tail: [0, 1],
  rollback: [0, 2],
  upload: [0, 1],
  share: [2, 3],
  restore: [0, 1],
  "open-backup": [1, 2],
  "time-travel": [1, 1],
  destroy: [0, 0],
} as const;

type Command = keyof typeof commands;

export interface Options {
  readonly command: Command;
  readonly arguments: readonly string[];
  readonly environment: string;
  /** The members of the environment's file that the options contain. */
  readonly file: EnvironmentFile;
  readonly account: string | undefined;
  /** The administrator to invite with the first deployment. */
  readonly administrator: EmailAddress | undefined;
  readonly takeOver: readonly string[];
  readonly dryRun: boolean;
  readonly skipVerification: boolean;
  readonly origin: string | undefined;
  readonly confirm: string | undefined;
  readonly audit: boolean;
  readonly deployments: string | undefined;
  readonly verbose: boolean;
}

/** **Reads the command line of `npm run deploy`.** */
export function readOptions(given: readonly string[]): Options {
  try {
    return parseOptions(given);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exit(2);
  }
}

/** Throws what is wrong with them. */
export function parseOptions(given: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...given],
    allowPositionals: true,
    options: {
      issuer: { type: "string" },
      "workers-dev": { type: "boolean", default: false },
      separate: { type: "boolean", default: false },
      environment: { type: "string", default: "production" },
      account: { type: "string" },
      prefix: { type: "string" },
      region: { type: "string" },
      jurisdiction: { type: "string" },
      administrator: { type: "string" },
      "take-over": { type: "string", multiple: true, default: [] },
      "dry-run": { type: "boolean", default: false },
      "skip-verification": { type: "boolean", default: false },
      origin: { type: "string" },
      confirm: { type: "string" },
      audit: { type: "boolean", default: false },
      deployments: { type: "string" },
      verbose: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    process.exit(0);
  }
  const [named = "deploy", ...more] = positionals;
  const command = (Object.keys(commands) as Command[]).find((each) => each === named);
  const [least, most] = command === undefined ? [0, 0] : commands[command];
  if (command === undefined || more.length > most) throw new Error(`Unknown command: ${positionals.join(" ")}`);
  if (more.length < least) throw new Error(`${command} needs an argument`);
  return {
    command,
    arguments: more,
    environment: values.environment,
    file: fileOf(values),
    account: values.account,
    administrator: values.administrator === undefined ? undefined : readAddress(values.administrator),
    takeOver: values["take-over"],
    dryRun: values["dry-run"],
    skipVerification: values["skip-verification"],
    origin: values.origin,
    confirm: values.confirm,
    audit: values.audit,
    deployments: values.deployments,
    verbose: values.verbose,
  };
}

function readAddress(text: string): EmailAddress {
  const address = parseEmailAddress(text);
  if (address === undefined) throw new Error(`${text} is not an address that mail can be sent to`);
  return address;
}

interface FileOptions {
  readonly issuer?: string | undefined;
  readonly "workers-dev": boolean;
  readonly separate: boolean;
  readonly account?: string | undefined;
  readonly prefix?: string | undefined;
  readonly region?: string | undefined;
  readonly jurisdiction?: string | undefined;
}

function fileOf(values: FileOptions): EnvironmentFile {
  const { issuer, account, prefix, region, jurisdiction } = values;
  const settings = {
    ...(region === undefined ? {} : { REGION: region }),
    ...(jurisdiction === undefined
      ? {}
      : { JURISDICTION: jurisdiction, ...(region === undefined && jurisdiction === "eu" ? { REGION: "weur" } : {}) }),
  };
  return {
    ...(issuer === undefined ? {} : { issuer }),
    ...(values["workers-dev"] ? { workersDev: true } : {}),
    ...(values.separate ? { shape: "separate" } : {}),
    ...(account === undefined ? {} : { account }),
    ...(prefix === undefined ? {} : { prefix }),
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
  };
}
