import { workers } from "../../packages/edge-op/src/workers.ts";
import { deployedWorkerName } from "../../scripts/deploy/shape.ts";
import type { RecordedCall } from "./local-cloudflare/local-cloudflare.ts";

/**
 * **The calls of a deployment as a text**, for a golden file: by Worker in the order of deployment, without ids. Endpoint Workers are uploaded in
 * parallel, so calls that name no Worker are counted, not ordered; queries grow with every migration and are summarized in one line.
 */
export function describeCalls(calls: readonly RecordedCall[], prefix: string): string {
  const lines = calls.map((call) => ({
    line: `${call.method} ${withoutIds(call)} ${call.status}`,
    script: scriptOf(call.path),
  }));
  const sections = workers.flatMap(({ name }) => {
    const script = deployedWorkerName(prefix, name);
    return [`\n${script}`, ...lines.filter((each) => each.script === script).map(({ line }) => `  ${line}`)];
  });
  const known = new Set(workers.map(({ name }) => deployedWorkerName(prefix, name)));
  const others = lines.filter(({ script }) => script === undefined || !known.has(script)).map(({ line }) => line);
  const counted = [...Map.groupBy(others, (line) => line)].map(([line, all]) =>
    line.includes("/query ") ? `  n × ${line}` : `  ${all.length} × ${line}`,
  );
  return `${["Stores and address", ...counted.sort(), ...sections].join("\n")}\n`;
}

function scriptOf(path: string): string | undefined {
  return /\/workers\/(?:scripts|services|workers)\/([^/]+)/.exec(path)?.[1];
}

function withoutIds({ path, search }: RecordedCall): string {
  const named = path
    .replace(/\/accounts\/[^/]+/, "/accounts/{account}")
    .replace(/\/zones\/[^/]+/, "/zones/{zone}")
    .replace(/\/database\/[^/]+/, "/database/{database}")
    .replace(/\/queues\/[^/]+/, "/queues/{queue}")
    .replace(/\/consumers\/[0-9a-f]+/, "/consumers/{consumer}")
    .replace(/\/versions\/[^/]+/, "/versions/{version}");
  return named + search.replace(/account\.id=[^&]+/, "account.id={account}");
}
