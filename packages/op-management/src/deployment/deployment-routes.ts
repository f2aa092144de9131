import { OAuthError, UnavailableError } from "@edge-op/protocol/oauth/errors";
import { limits } from "@edge-op/shared/config/limits";
import { workerSettings } from "@edge-op/shared/config/settings";
import { controlPlane } from "@edge-op/shared/control/commit-control-change";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { keyManagerName } from "@edge-op/shared/keys/key-schedule";
import { mailSenderName } from "@edge-op/shared/mail/mail-sender-rpc";
import { log } from "@edge-op/shared/runtime/log";
import {
  type DeploymentFacts,
  type FactsRpc,
  type ObjectFacts,
  readDeploymentFacts,
} from "@edge-op/shared/secrets/deployment-facts";
import { callObject, objectStub, shardStub } from "@edge-op/shared/storage/call-object";
import type { GenerationTable } from "@edge-op/shared/storage/generation-table";
import { controlPlaneName, objectName, type ShardedStore, shardedStores } from "@edge-op/shared/storage/shard-address";
import type { ManagementEnv } from "@edge-op/workers/env";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";

/**
 * **`/admin/deployment`**: the version and the secrets of every object, read from the objects themselves. While an update is deferred, objects of two
 * versions run side by side (ADR 34); procedures wait for this report. Cost: one call for each object.
 */

/** The platform allows about 1,000 calls a request. The newest generations come first. */
const mostCalled = 800;

/** Each batch has 200 rows. */
const batchesAtOnce = 10;
/** Each batch waits for D1 at most three times. */
const sealingMs = 30_000;

const exampleFacts = {
  ...{ name: "op-management", version: "0c5f0d1e-6f0b-4a55-9a3f-8b1b7d1f2c11" },
  keys: { OP_MASTER_KEY: "3fa94c07d2e81b56" },
};

const factsSchema = z
  .strictObject({
    name: z.string().describe("The name of the object or Worker."),
    version: z.string().describe("The id of the Worker's version that it runs."),
    keys: z.record(z.string(), z.string()).describe("The fingerprint of each secret that it has."),
  })
  .meta({ id: "DeploymentFacts", examples: [exampleFacts] });

const objectFactsSchema = factsSchema
  .extend({ bytes: z.int().min(0).describe("The size of its storage; the platform allows 10,000,000,000.") })
  .meta({ id: "ObjectFacts" });

const reportSchema = z
  .strictObject({
    worker: factsSchema,
    objects: z.array(objectFactsSchema),
    unreachable: z.array(z.string()).describe("Objects that did not respond within 2 seconds."),
    settings: z
      .record(z.string(), z.string().nullable())
      .describe("The variables of every Worker, as they are set; `null`: its default is in force."),
    sealed_before: z
      .record(z.string(), z.int())
      .exactOptional()
      .describe(
        "The rows of each table that only the previous master key opens; empty without one, absent if the control plane does not respond.",
      ),
    not_called: z.int().min(0).describe(`Live shards beyond the ${mostCalled} of the newest generations.`),
  })
  .meta({
    id: "DeploymentReport",
    examples: [
      {
        worker: exampleFacts,
        objects: [{ ...exampleFacts, name: "revocation:g1:wnam:3", bytes: 36_864 }],
        ...{
          unreachable: [],
          settings: { ISSUER: "https://op.example.com", MFA: null },
          sealed_before: {},
          not_called: 0,
        },
      },
    ],
  });

interface ReportingObject {
  readonly name: string;
  readonly stub: DurableObjectStub<FactsRpc>;
}

function objectsOf({ env, settings }: RequestContext<ManagementEnv>, table: GenerationTable): ReportingObject[] {
  const stores: Readonly<Record<ShardedStore, DurableObjectNamespace<FactsRpc>>> = {
    revocation: env.TOKEN_REVOCATION_STORE,
    refresh: env.REFRESH_TOKEN_ROTATOR,
    code: env.AUTHORIZATION_CODE_STORE,
    session: env.SESSION_STORE,
    challenge: env.CHALLENGE_STORE,
    relay: env.REVOCATION_RELAY,
  };
  const shards = shardedStores.flatMap((store) => table.live(store).map((address) => ({ store, address })));
  return [
    { name: keyManagerName, stub: objectStub<FactsRpc>(settings, env.KEY_MANAGER, keyManagerName) },
    { name: controlPlaneName, stub: objectStub<FactsRpc>(settings, env.CONTROL_PLANE, controlPlaneName) },
    { name: mailSenderName, stub: objectStub<FactsRpc>(settings, env.MAIL_SENDER, mailSenderName) },
    ...shards
      .sort((a, b) => b.address.generation - a.address.generation)
      .map(({ store, address }) => ({
        name: objectName(store, address),
        stub: shardStub(settings, stores[store], store, address, table.find(store, address)),
      })),
  ];
}

interface Result {
  readonly name: string;
  /** `undefined` if the object did not respond. */
  readonly facts: ObjectFacts | undefined;
}

async function readFacts({ name, stub }: ReportingObject, requestId: string): Promise<Result> {
  try {
    const call = async (): Promise<ObjectFacts> => await stub.deploymentFacts();
    return { name, facts: await callObject(name, call, limits.statisticsCallMs) };
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    log("unavailable", { store: error.store, cause: String(error.cause), requestId });
    return { name, facts: undefined };
  }
}

const report = defineRoute({
  method: "GET",
  path: "/deployment",
  operationId: "reportDeployment",
  summary: "Reports the version and the fingerprints of the secrets that each object runs.",
  scope: "admin:shards",
  response: { status: 200, description: "The report.", schema: reportSchema },
  async handle({ context, isolate }) {
    const all = objectsOf(context, await isolate.shardMap.table(context));
    const called = all.slice(0, mostCalled);
    const [own, sealedBefore, results] = await Promise.all([
      readDeploymentFacts(context.env),
      countSealedBefore(context),
      Promise.all(called.map((object) => readFacts(object, context.requestId))),
    ]);
    return {
      body: {
        worker: toResource("op-management", own),
        objects: results.flatMap(({ name, facts }) =>
          facts === undefined ? [] : [{ ...toResource(name, facts), bytes: facts.bytes }],
        ),
        unreachable: results.flatMap(({ name, facts }) => (facts === undefined ? [name] : [])),
        settings: Object.fromEntries(
          Object.values(workerSettings).map(({ variable }) => [variable, context.env[variable] || null]),
        ),
        ...(sealedBefore && { sealed_before: sealedBefore }),
        not_called: all.length - called.length,
      },
    };
  },
});

function toResource(name: string, { version, keys }: DeploymentFacts): z.input<typeof factsSchema> {
  return { name, version, keys: { ...keys } };
}

const sealing = defineRoute({
  method: "POST",
  path: "/deployment/sealing",
  operationId: "sealAgain",
  summary:
    "Seals secrets again that were sealed with the previous master key, 2,000 of each table by one call. The previous key is needed until nothing remains.",
  scope: "admin:shards",
  response: {
    status: 200,
    description: "What remains.",
    schema: z
      .strictObject({
        remaining: z.record(z.string(), z.int()).describe("Rows by table; empty without a previous master key."),
      })
      .meta({ id: "Sealing", examples: [{ remaining: { client_secrets: 0, user_totp: 0, upstreams: 0 } }] }),
  },
  async handle(call) {
    const { context } = call;
    const remaining = await sealAgain(context, batchesAtOnce);
    const event = { action: "deployment.seal", target: context.settings.issuer, detail: { remaining } };
    await commitChange(call, { statements: [], forget: [], event });
    return { body: { remaining } };
  },
});

/** `undefined` if the control plane does not respond. */
async function countSealedBefore(context: RequestContext<ManagementEnv>): Promise<Record<string, number> | undefined> {
  try {
    return await sealAgain(context, 0);
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    log("unavailable", { store: error.store, cause: String(error.cause), requestId: context.requestId });
    return undefined;
  }
}

/** Cost: 0 without a previous key, otherwise 1 object call. */
async function sealAgain(context: RequestContext<ManagementEnv>, batches: number): Promise<Record<string, number>> {
  if (!context.env.OP_MASTER_KEY_PREVIOUS) return {};
  const call = async () => controlPlane(context).sealAgain(batches);
  return { ...(await callObject("control plane", call, sealingMs)) };
}

const backup = defineRoute({
  method: "POST",
  path: "/deployment/backup",
  operationId: "backUp",
  summary:
    "Begins a backup of the database, in addition to that of every day. The audit event `deployment.backed-up` says when it is complete. Needs the bucket `BACKUP`.",
  scope: "admin:shards",
  response: { status: 204, description: "A backup begins." },
  async handle(call) {
    const { context } = call;
    const isBegun = await callObject("control plane", async () => controlPlane(context).backUp());
    if (!isBegun)
      throw new OAuthError("conflict", "backups-off", { description: "The deployment has no bucket BACKUP." });
    await commitChange(call, {
      statements: [],
      forget: [],
      event: { action: "deployment.back_up", target: context.settings.issuer },
    });
    return { body: undefined };
  },
});

export const deploymentRoutes: readonly AdminRoute[] = [report, sealing, backup];
