import type { Shape } from "../../packages/edge-op/src/workers.ts";
import { certificateHost } from "./certificate-host.ts";
import type { Environment } from "./environment.ts";
import { locationForDatabases } from "./locations.ts";
import type { Options } from "./options.ts";
import type { Session } from "./session.ts";
import { deployedWorkerName, frontWorker, workersOf } from "./shape.ts";
import { isNearStores, routePatterns, storeNames } from "./worker-configuration.ts";

const shapeReasons: Readonly<Record<Shape, string>> = {
  compact: "compact: one isolate serves all endpoints, so fewer requests wait for a new one",
  separate: "separate: sign-ins delay no token request, and a changed endpoint restarts no object",
};

/** **Describes the steps of a deployment** before they run; without a session, those for an empty account. */
export function describePlan(environment: Environment, session: Session | undefined): string[] {
  const { prefix, shape, workersDev, region, jurisdiction } = environment;
  const names = storeNames(environment);
  const front = deployedWorkerName(prefix, frontWorker(environment));
  const issuer = session?.issuer ?? environment.issuer ?? `https://${front}.<your subdomain>.workers.dev`;
  const known = (exists: boolean | undefined) =>
    exists === undefined ? "create if missing" : exists ? "exists" : "create";
  const found = session?.inventory;
  const place = Object.values(locationForDatabases(environment)).join("");
  return [
    `Environment "${environment.name}"${session === undefined ? "" : ` in account ${session.account}`}`,
    `  issuer         ${issuer}`,
    `  shape          ${describeShape(environment, found?.recorded?.get("shape"))} (docs/operating/shapes.md)`,
    `  region         ${region}, jurisdiction ${jurisdiction}${found?.recorded === undefined ? " (cannot be changed later)" : ""}`,
    ...Object.values(names.databases).map(
      (name) => `  D1             ${name} (${place}): ${known(found?.databases.has(name))}`,
    ),
    ...Object.values(names.namespaces).map((name) => `  KV             ${name}: ${known(found?.namespaces.has(name))}`),
    ...names.queues.map((name) => `  queue          ${name}: ${known(found?.queues.has(name))}`),
    ...names.buckets.map((name) => `  R2             ${name}: ${known(found?.buckets.has(name))}`),
    ...workersOf(environment).map(({ name }) => {
      const exists = found?.workers.has(name);
      return `  Worker         ${deployedWorkerName(prefix, name)}: ${exists === true ? "upgrade" : known(exists)}${isNearStores(name) ? ", runs near its stores (Smart Placement)" : ""}`;
    }),
    ...(workersDev
      ? [`  address        workers.dev, of ${front} alone`]
      : [
          `  domain         ${new URL(issuer).host} → ${front}`,
          ...[certificateHost(environment) ?? []].flat().map((host) => `  certificates   ${host} → ${front}`),
          ...(shape === "compact" ? [] : routePatterns(issuer)).map(
            ({ worker, pattern }) => `  route          ${pattern} → ${deployedWorkerName(prefix, worker)}`,
          ),
        ]),
    ...(found?.otherShape ?? []).map(
      (name) => `  Worker         ${deployedWorkerName(prefix, name)}: delete when the ${shape} shape has taken over`,
    ),
    "",
  ];
}

function describeShape({ shape, isShapeGiven }: Environment, recorded: string | undefined): string {
  if (recorded !== undefined && recorded !== shape) return `${recorded} becomes ${shapeReasons[shape]}`;
  return `${shapeReasons[shape]}${isShapeGiven || recorded !== undefined ? "" : ", unless another one is deployed"}`;
}

export function nextSteps({ issuer, environment }: Session, { skipVerification }: Options): string[] {
  const flag = environment.name === "production" ? "" : ` --environment ${environment.name}`;
  return [
    "",
    `${issuer} is deployed${skipVerification ? "" : " and verified"}.`,
    "",
    "Next:",
    `  curl ${issuer}/.well-known/openid-configuration`,
    `  curl -u admin:<client_secret> -d grant_type=client_credentials ${issuer}/token    # a token of the admin API: docs/reference/admin-api.md`,
    `  OP_MASTER_KEY=… npm run admin-client --${flag} --invite <address>    # a person as an administrator: docs/operating/getting-in.md`,
    `  ${issuer}/console    # for that person: docs/operating/console.md`,
    `  keep a copy of deployments/${environment.name}.ts; settings are changed there, then: npm run deploy${flag === "" ? "" : ` --${flag}`}`,
    `  npm run deploy -- status${flag}`,
  ];
}
