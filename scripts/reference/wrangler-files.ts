import { dirname, relative } from "node:path";
import { compactWorker, stateScript, type WorkerName } from "../../packages/edge-op/src/workers.ts";
import type { Binding } from "../../packages/workers/src/binding.ts";
import {
  type BindingName,
  bindings,
  compactBindings,
  nameOf,
  readinessCrons,
  type SeparateWorker,
  type WorkerRow,
  workers,
} from "../../packages/workers/src/workers.ts";

/**
 * **The wrangler file of a Worker**, with the bindings of local runs, generated from the table of Workers. It is committed, so that `wrangler deploy`
 * works without this script.
 */
export function wranglerFile(name: WorkerName): string {
  const isCompact = name === compactWorker.name;
  const row: WorkerRow = isCompact ? compactRow() : workers[name as SeparateWorker];
  const file = isCompact ? "wrangler.toml" : `packages/${name}/wrangler.toml`;
  const tables = [
    ...(["d1", "dataset", "kv", "r2", "queue", "service"] as const).flatMap((kind) => tablesOf(row, kind, file)),
    ...(row.consumesAudit ? [consumer] : []),
    ...tablesOf(row, "object", file),
    ...(row.defines === undefined ? [] : migrations(row.defines)),
    ...tablesOf(row, "rateLimit", file),
  ];
  return `${[header(name, file), versionMetadata, vars(row), ...triggers(row), ...tables].join("\n\n")}\n`;
}

function compactRow(): WorkerRow {
  const defines = workers[stateScript].defines;
  const isDefined = (each: BindingName): boolean => defines.some((own) => own === each);
  return {
    binds: compactBindings().filter((each) => !isDefined(each)),
    defines,
    hasSecrets: true,
    consumesAudit: true,
    crons: readinessCrons,
    hasBranding: true,
  };
}

function header(name: WorkerName, file: string): string {
  const isCompact = name === compactWorker.name;
  return [
    "# Made from packages/workers/src/workers.ts by `npm run check -- --write`: change it there.",
    ...(isCompact
      ? [
          '# The whole provider in one Worker (docs/operating/shapes.md). The "Deploy to Cloudflare" button reads this file.',
        ]
      : []),
    `name = "${isCompact ? "edge-op" : name}"`,
    `main = "${relative(dirname(file), `packages/${name}/src/index.ts`)}"`,
    'compatibility_date = "2026-10-20"',
    // The registry compiles a module when it is first imported (ARCHITECTURE.md, the start of an isolate).
    'compatibility_flags = ["global_fetch_strictly_public", "new_module_registry"]',
    `workers_dev = ${isCompact}`,
    "keep_names = false",
  ].join("\n");
}

const versionMetadata = '[version_metadata]\nbinding = "VERSION"';

function vars({ hasBranding }: WorkerRow): string {
  return [
    "[vars]",
    'ISSUER = "http://localhost:8787"',
    ...(hasBranding
      ? [
          "# How pages and mails look and how long a session lives, DISPLAY_NAME for example: docs/operating/signing-in.md",
        ]
      : []),
  ].join("\n");
}

function triggers({ crons = [] }: WorkerRow): string[] {
  const names = crons.map((cron) => `"${cron}"`);
  return crons.length === 0
    ? []
    : [`# GET /ready, so that a monitor of the requests sees it.\n[triggers]\ncrons = [${names.join(", ")}]`];
}

const consumer = `# One at a time: a batch continues the one chain of the audit log.
[[queues.consumers]]
queue = "edge-op-audit"
max_batch_size = 100
max_batch_timeout = 5
max_concurrency = 1`;

function tablesOf({ binds, defines = [] }: WorkerRow, kind: Binding["kind"], file: string): string[] {
  return [...defines, ...binds]
    .filter((each) => bindings[each].kind === kind)
    .map((each) => table(nameOf(each), bindings[each], defines.includes(each), file));
}

function table(name: string, binding: Binding, isOwn: boolean, file: string): string {
  const note = binding.note ? `# ${binding.note}\n` : "";
  switch (binding.kind) {
    case "d1":
      return `${note}[[d1_databases]]
binding = "${name}"
database_name = "${binding.database}"
database_id = "${binding.id}"
migrations_dir = "${relative(dirname(file), binding.migrations)}"`;
    case "kv":
      return `${note}[[kv_namespaces]]\nbinding = "${name}"\nid = "${binding.id}"`;
    case "dataset":
      return `${note}[[analytics_engine_datasets]]\nbinding = "${name}"\ndataset = "${binding.dataset}"`;
    case "r2":
      return `${note}[[r2_buckets]]\nbinding = "${name}"\nbucket_name = "${binding.bucket}"`;
    case "queue":
      return `${note}[[queues.producers]]\nbinding = "${name}"\nqueue = "${binding.queue}"`;
    case "service":
      return `${note}[[services]]\nbinding = "${name}"\nservice = "${binding.worker}"`;
    case "rateLimit":
      return `${note}[[ratelimits]]
name = "${name}"
namespace_id = "${binding.namespace}"
simple = { limit = ${binding.limit}, period = ${binding.period} }`;
    case "mail":
    case "operated":
      return "";
    case "object":
      return [
        `${note}[[durable_objects.bindings]]`,
        `name = "${name}"`,
        `class_name = "${binding.className}"`,
        ...(isOwn ? [] : [`script_name = "${stateScript}"`]),
      ].join("\n");
  }
}

/** The tags are the same in every shape: either Worker may be deployed under the name of the other (ADR 32). */
function migrations(defines: readonly BindingName[]): string[] {
  const classes = defines.map((each): Binding => bindings[each]).filter((each) => each.kind === "object");
  return [...new Set(classes.map(({ migration }) => migration))].toSorted().map((tag) => {
    const names = classes.filter(({ migration }) => migration === tag).map(({ className }) => `"${className}"`);
    return `[[migrations]]\ntag = "${tag}"\nnew_sqlite_classes = [${names.join(", ")}]`;
  });
}
