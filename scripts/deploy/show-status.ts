import { findConflicts } from "./find-conflicts.ts";
import { type EndpointWorker, readWorkerFacts } from "./read-facts.ts";
import { findWrongMigrations, query, readVersions, type Session } from "./session.ts";
import { deployedWorkerName, frontWorker, hasSecret, workersOf } from "./shape.ts";
import { hasBranding, routePatterns } from "./worker-configuration.ts";

/**
 * **`npm run deploy -- status`**: shows the deployed Workers, their reported facts, the shard map, and every difference from the environment's file.
 * It changes nothing.
 */
export async function showStatus(session: Session): Promise<void> {
  const { environment, inventory, names, issuer, account } = session;
  const versions = await readVersions(session);
  const recorded = inventory.recorded ?? new Map<string, string>();
  console.log(`Environment "${environment.name}", ${issuer}, account ${account}
  region ${recorded.get("region") ?? "not deployed"}, jurisdiction ${recorded.get("jurisdiction") ?? "not deployed"}
  OP_MASTER_KEY fingerprint ${recorded.get("key_fingerprint") ?? "not recorded"}
`);
  const drift: string[] = [];
  for (const { name } of workersOf(environment)) {
    const script = deployedWorkerName(environment.prefix, name);
    const reported = name === "op-state" ? undefined : await reportedBy(session, name);
    console.log(`  Worker  ${script.padEnd(24)} ${versions[name] ?? "missing"}${reported?.text ?? ""}`);
    if (versions[name] === undefined) drift.push(`the Worker ${script} is missing`);
    if (reported?.drift !== undefined) drift.push(reported.drift);
  }
  for (const name of Object.values(names.databases))
    console.log(`  D1      ${name.padEnd(24)} ${inventory.databases.get(name) ?? "missing"}`);
  for (const name of Object.values(names.namespaces))
    console.log(`  KV      ${name.padEnd(24)} ${inventory.namespaces.get(name) ?? "missing"}`);
  for (const name of names.queues)
    console.log(`  queue   ${name.padEnd(24)} ${inventory.queues.get(name)?.id ?? "missing"}`);
  for (const name of names.buckets)
    console.log(`  R2      ${name.padEnd(24)} ${inventory.buckets.has(name) ? "exists" : "missing"}`);
  drift.push(...missingStores(session), ...(await differingSettings(session)));
  drift.push(...missingHosts(session));
  drift.push(...findConflicts(environment, names, inventory, { fingerprint: session.masterKey?.fingerprint }));
  drift.push(...findWrongMigrations(session));
  await showShards(session);
  console.log(
    drift.length === 0
      ? "\nNothing differs from the environment's file."
      : `\nDiffers:\n${drift.map((line) => `  ${line}`).join("\n")}`,
  );
  if (drift.length > 0) process.exitCode = 3;
}

async function reportedBy(session: Session, name: EndpointWorker) {
  const token = session.inventory.recorded?.get("facts_token");
  const expected = session.inventory.recorded?.get("key_fingerprint");
  if (token === undefined) return undefined;
  try {
    const facts = await readWorkerFacts(session.issuer, name, token, session.reach);
    if (facts === undefined) return { text: "  does not report", drift: undefined };
    const key = facts.keys.OP_MASTER_KEY;
    return {
      text: `  runs ${facts.version || "an unnamed version"}${key === undefined ? "" : `, key ${key}`}`,
      drift:
        hasSecret(name) && key !== expected
          ? `${name} runs the key ${key ?? "none"}, recorded is ${expected}`
          : undefined,
    };
  } catch (error) {
    return { text: `  unreachable (${error instanceof Error ? error.message : String(error)})`, drift: undefined };
  }
}

function missingStores({ names, inventory }: Session): string[] {
  return [
    ...Object.values(names.databases).flatMap((name) =>
      inventory.databases.has(name) ? [] : [`the database ${name} is missing`],
    ),
    ...Object.values(names.namespaces).flatMap((name) =>
      inventory.namespaces.has(name) ? [] : [`the KV namespace ${name} is missing`],
    ),
    ...names.queues.flatMap((name) => (inventory.queues.has(name) ? [] : [`the queue ${name} is missing`])),
    ...missingConsumers({ names, inventory }),
    ...names.buckets.flatMap((name) => (inventory.buckets.has(name) ? [] : [`the R2 bucket ${name} is missing`])),
  ];
}

export function missingConsumers({ names, inventory }: Pick<Session, "names" | "inventory">): string[] {
  return Object.entries(names.consumers).flatMap(([queue, script]) => {
    const found = inventory.queues.get(queue);
    return found === undefined || found.consumers.includes(script)
      ? []
      : [`the consumer ${script} of the queue ${queue} is missing`];
  });
}

/** Missing hosts and routes. A deployment creates them again. */
export function missingHosts(session: Session): string[] {
  return [...missingAddresses(session), ...missingRoutes(session)];
}

function missingAddresses({ environment, issuer, inventory: { address } }: Session): string[] {
  const front = deployedWorkerName(environment.prefix, frontWorker(environment));
  const hosts = [
    { hostname: new URL(issuer).hostname, domainOf: address.domainOf },
    ...[address.certificateHost ?? []].flat(),
  ];
  const kind = environment.workersDev ? "address" : "custom domain";
  return hosts.flatMap(({ hostname, domainOf }) =>
    domainOf === front ? [] : [`the ${kind} ${hostname} of ${front} is missing`],
  );
}

function missingRoutes({ environment, inventory: { address } }: Session): string[] {
  if (environment.workersDev || environment.shape === "compact") return [];
  const routes = new Map(address.routes.map(({ pattern, script }) => [pattern, script]));
  return routePatterns(address.issuer).flatMap(({ worker, pattern }) => {
    const script = deployedWorkerName(environment.prefix, worker);
    return routes.get(pattern) === script ? [] : [`the route ${pattern} → ${script} is missing`];
  });
}

interface WorkerBinding {
  readonly name: string;
  readonly type: string;
  readonly text?: string;
}

/** Variables that were changed in the dashboard or are not deployed yet. */
async function differingSettings({ api, account, environment, issuer, inventory }: Session): Promise<string[]> {
  const lines = await Promise.all(
    [...inventory.workers.keys()].map(async (name) => {
      const script = deployedWorkerName(environment.prefix, name);
      const settings = await api.find<{ bindings?: WorkerBinding[] }>(
        `/accounts/${account}/workers/scripts/${script}/settings`,
      );
      const deployed = new Map(
        (settings?.bindings ?? []).flatMap(({ name: variable, type, text }) =>
          type === "plain_text" ? [[variable, text ?? ""]] : [],
        ),
      );
      const wanted: Record<string, string> = {
        ...environment.variables,
        ...(hasBranding(name) ? environment.authVariables : {}),
        ISSUER: issuer,
        DEPLOYMENT_ENVIRONMENT: environment.name,
      };
      deployed.delete("FACTS_TOKEN_SHA256");
      return [...new Set([...deployed.keys(), ...Object.keys(wanted)])].flatMap((variable) =>
        deployed.get(variable) === wanted[variable]
          ? []
          : [
              `${script}: ${variable} is ${deployed.get(variable) ?? "not set"}, the file says ${wanted[variable] ?? "the default"}`,
            ],
      );
    }),
  );
  return lines.flat();
}

async function showShards(session: Session): Promise<void> {
  const { inventory, names } = session;
  const database = inventory.databases.get(names.databases["DB"]!);
  if (database === undefined || inventory.recorded === undefined) return;
  const rows = await query(
    session,
    database,
    "SELECT store, generation, regions, minted_until_ms, retired FROM shard_generations ORDER BY store, generation",
  );
  console.log("\n  shards");
  for (const { store, generation, regions, minted_until_ms: until, retired } of rows) {
    const state = retired === 1 ? "retired" : until === null ? "newest" : "draining";
    console.log(`    ${String(store).padEnd(12)} g${String(generation)}  ${String(regions)}  ${state}`);
  }
}
