import type { Shape, WorkerName } from "../../packages/edge-op/src/workers.ts";
import { factsHeader } from "../../packages/shared/src/http/report-facts.ts";
import type { DeploymentFacts } from "../../packages/shared/src/secrets/deployment-facts.ts";

export type Facts = DeploymentFacts & { readonly name: string };

export interface ObjectReport {
  readonly worker: Facts;
  readonly objects: readonly Facts[];
  readonly unreachable: readonly string[];
  readonly not_called: number;
}

export type EndpointWorker = Exclude<WorkerName, "op-state">;

/** A path to which each Worker responds itself, even without its own routes. */
const pathOfWorker: Readonly<Record<EndpointWorker, string>> = {
  op: "/health",
  "op-compact": "/health",
  "op-token": "/token",
  "op-management": "/introspect",
  "op-userinfo": "/userinfo",
  "op-auth": "/par",
  "op-console": "/console",
};

export const endpointWorkers: Readonly<Record<Shape, readonly EndpointWorker[]>> = {
  separate: ["op-token", "op-management", "op-userinfo", "op-auth", "op-console", "op"],
  compact: ["op-compact"],
};

/** `undefined` for a Worker of a release without the report. */
export async function readWorkerFacts(
  issuer: string,
  worker: EndpointWorker,
  token: string,
  reach: typeof fetch,
): Promise<Facts | undefined> {
  const response = await reach(`${issuer}${pathOfWorker[worker]}`, { headers: { [factsHeader]: token } });
  const body = await readJson<DeploymentFacts & { readonly worker: string }>(response);
  if (body?.worker !== worker) return undefined;
  return { name: worker, version: String(body.version), keys: body.keys ?? {} };
}

/** `undefined` for a release without the report. */
export async function readObjectReport(
  issuer: string,
  accessToken: string,
  reach: typeof fetch,
): Promise<ObjectReport | undefined> {
  const response = await reach(`${issuer}/admin/deployment`, { headers: { authorization: `Bearer ${accessToken}` } });
  if (response.status === 404) return undefined;
  const body = await readJson<ObjectReport>(response);
  const { worker, objects, unreachable, not_called } = body ?? {};
  if (response.status !== 200 || !worker || !objects || !unreachable || not_called === undefined) {
    throw new Error(`GET /admin/deployment: ${response.status} ${JSON.stringify(body)}`);
  }
  return { worker, objects, unreachable, not_called };
}

export async function requestSealing(issuer: string, accessToken: string, reach: typeof fetch) {
  const response = await reach(`${issuer}/admin/deployment/sealing`, {
    method: "POST",
    headers: { authorization: `Bearer ${accessToken}` },
  });
  const body = await readJson<{ readonly remaining: Readonly<Record<string, number>> }>(response);
  if (response.status !== 200 && response.status !== 404)
    throw new Error(`POST /admin/deployment/sealing: ${response.status}`);
  return { status: response.status, remaining: body?.remaining ?? {} };
}

/** Members may be absent: the Worker may be of another release. */
async function readJson<Body>(response: Response): Promise<Partial<Body> | undefined> {
  const text = await response.text();
  if (!(response.headers.get("content-type") ?? "").includes("json")) return undefined;
  return JSON.parse(text) as Partial<Body>;
}

export interface WantedFacts {
  readonly version?: string;
  /** The fingerprint of each secret; empty for a secret that must not be set. */
  readonly keys: Readonly<Record<string, string>>;
}

/** The difference between the running and the wanted facts; `undefined` if there is none. */
export function difference(facts: Facts, wanted: WantedFacts): string | undefined {
  const faults: string[] = [];
  if (wanted.version !== undefined && facts.version !== wanted.version)
    faults.push(`version ${facts.version || "unknown"}`);
  for (const [name, fingerprint] of Object.entries(wanted.keys)) {
    const found = facts.keys[name as keyof Facts["keys"]] ?? "";
    if (found !== fingerprint) faults.push(`${name} ${found || "not set"}`);
  }
  return faults.length === 0 ? undefined : `${facts.name}: ${faults.join(", ")}`;
}
