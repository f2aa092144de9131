import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { type FactsBindings, readDeploymentFacts } from "../secrets/deployment-facts.ts";

export interface ReportBindings extends FactsBindings {
  /** SHA-256 of the token, base64url; written into the configuration by `npm run deploy`. */
  readonly FACTS_TOKEN_SHA256?: string;
}

export const factsHeader = "Edge-OP-Facts";

type Fetch<Env, Execution> = (request: Request, env: Env, execution: Execution) => Response | Promise<Response>;

/**
 * **Reports the facts of a Worker to the deployment's operator**: a request on any of its paths whose header contains the token that `npm run deploy`
 * keeps in the database. Without the variable, or with another token, the request is served as usual. Cost for other requests: one header lookup.
 */
export function reportFacts<Env extends object, Execution>(
  worker: string,
  fetch: Fetch<Env, Execution>,
): Fetch<Env, Execution> {
  return (request, env, execution) => {
    const token = request.headers.get(factsHeader);
    return token === null
      ? fetch(request, env, execution)
      : report(worker, token, env, () => fetch(request, env, execution));
  };
}

async function report(
  worker: string,
  token: string,
  env: ReportBindings,
  otherwise: () => Response | Promise<Response>,
): Promise<Response> {
  if (!env.FACTS_TOKEN_SHA256 || encodeBase64Url(await sha256(token)) !== env.FACTS_TOKEN_SHA256) return otherwise();
  return Response.json({ worker, ...(await readDeploymentFacts(env)) }, { headers: { "Cache-Control": "no-store" } });
}
