import { connect } from "../connection/connection.ts";
import { type Call, hasFlag, textOption } from "../console/command.ts";
import { Failure, type Outcome } from "../console/failure.ts";
import { Progress } from "../console/progress.ts";
import { printable } from "../console/show.ts";
import type { LineReport } from "./import-batches.ts";
import { toKeycloakClient } from "./keycloak-clients.ts";
import { readRecords } from "./read-records.ts";
import { finishImport, Report } from "./report.ts";
import { isObject, type Json, type SourceClient, textOf } from "./source-user.ts";

const ownClient = (client: Json): SourceClient => ({ client, leftOut: [] });

/** Runs `edge-op import clients`. */
export async function importClients(call: Call): Promise<Outcome> {
  const toClient = textOption(call, "from") === "keycloak" ? toKeycloakClient : ownClient;
  const isDryRun = hasFlag(call, "dry-run");
  const connection = connect(call);
  const progress = new Progress(call.terminal, "clients");
  const report = new Report(call, progress);
  const counts = { read: 0, created: 0, exists: 0, refused: 0, left_out: 0 };
  const secrets: Record<string, unknown> = {};
  try {
    for await (const { line, list, value, fault, name } of readRecords(call.arguments["path"]!, {
      lists: ["clients"],
    })) {
      // A file of a realm's users has no clients.
      if (list === undefined && isObject(value) && !("client_id" in value || "clientId" in value) && isRealm(value))
        continue;
      counts.read += 1;
      const place = { record: counts.read, line, ...(name === undefined ? {} : { name }) };
      const add = (result: Pick<LineReport, "sub" | "result" | "fields" | "left_out">) => {
        counts[result.result] += 1;
        if (!isDryRun || result.result !== "created") report.add({ ...place, ...result });
      };
      if (!isObject(value)) {
        add({ result: "refused", fields: [{ path: "", message: fault ?? "must be an object" }] });
        continue;
      }
      const { client, leftOut, reason } = toClient(value);
      const { client_secret: known, ...shown } = client;
      const sub = textOf(client["client_id"]);
      if (reason !== undefined) add({ sub, result: "left_out", left_out: [reason] });
      else if (isDryRun) {
        counts.created += 1;
        await call.terminal.write(`${JSON.stringify(shown)}\n`);
      } else {
        const { result, fields, secret } = await createClient(connection, client);
        if (secret !== undefined && known === undefined) secrets[sub ?? ""] = secret;
        const left = leftOut.length === 0 ? {} : { left_out: leftOut };
        add({ sub, result, ...(fields && { fields }), ...left });
      }
    }
  } finally {
    report.close();
  }
  if (isDryRun) return counts.refused === 0 ? "done" : "refused";
  if (call.json) return finishImport(call, { ...counts, secrets });
  for (const [id, secret] of Object.entries(secrets)) {
    await call.terminal.write(`client_secret of ${printable(id)}: ${printable(String(secret))}\n`);
  }
  return finishImport(call, counts);
}

function isRealm(value: Json): boolean {
  return value["realm"] !== undefined || value["users"] !== undefined;
}

async function createClient(connection: ReturnType<typeof connect>, client: SourceClient["client"]) {
  try {
    const { body } = await connection.send({ method: "POST", path: "/clients", body: client });
    return { result: "created", secret: body["client_secret"] } as const;
  } catch (error) {
    if (!(error instanceof Failure) || (error.outcome !== "refused" && error.outcome !== "conflict")) throw error;
    const fields = (error.detail["fields"] ?? [{ path: "", message: error.message }]) as NonNullable<
      LineReport["fields"]
    >;
    const isThere =
      error.outcome === "conflict" &&
      fields.some(({ path, message }) => path === "client_id" && message === "is taken");
    return isThere ? ({ result: "exists" } as const) : ({ result: "refused", fields } as const);
  }
}
