import { connect } from "../connection/connection.ts";
import { type Call, hasFlag, textOption } from "../console/command.ts";
import { Failure, type Outcome } from "../console/failure.ts";
import { Progress } from "../console/progress.ts";
import { printable } from "../console/show.ts";
import type { LineReport } from "./import-batches.ts";
import { readRecords } from "./read-records.ts";
import { finishImport, Report } from "./report.ts";
import { compact, isObject, type Json, objectOf, type SourceClient, textOf, wordOf } from "./source-user.ts";

const ownClients = ["account", "account-console", "admin-cli", "broker", "realm-management", "security-admin-console"];

/** Exports without secrets have this in their place. */
const masked = /^\*+$/;

/** **A client of a realm export.** Those of Keycloak itself, and those that are none of OpenID Connect, are left out. */
export function toKeycloakClient(client: Json): SourceClient {
  const reason = reasonAgainst(client);
  if (reason !== undefined) return { client: { client_id: client["clientId"] }, leftOut: [], reason };
  const attributes = objectOf(client["attributes"]);
  const isPublic = client["publicClient"] === true;
  const usesSecret = !isPublic && client["clientAuthenticatorType"] === "client-secret";
  const secret = textOf(client["secret"]);
  const isMasked = secret !== undefined && masked.test(secret);
  const isStandard = client["standardFlowEnabled"] === true;
  const grants = [
    ...(isStandard ? ["authorization_code", "refresh_token"] : []),
    ...(client["serviceAccountsEnabled"] === true ? ["client_credentials"] : []),
  ];
  const scopes = [client["defaultClientScopes"], client["optionalClientScopes"]].flat().map(wordOf);
  const known = ["openid", "profile", "email", "address", "phone", "offline_access"];
  const scope = ["openid", ...scopes].filter(
    (value, index, all) => known.includes(value) && all.indexOf(value) === index,
  );
  const leftOut = [
    ...(client["implicitFlowEnabled"] === true ? ["implicit flow"] : []),
    ...(client["directAccessGrantsEnabled"] === true ? ["direct access grants"] : []),
    ...(usesSecret && (isMasked || secret === undefined)
      ? ["the secret, which the file does not have: a new one"]
      : []),
  ];
  return {
    client: compact({
      client_id: client["clientId"],
      client_name: textOf(client["name"]) ?? client["clientId"],
      status: client["enabled"] === false ? "disabled" : "active",
      token_endpoint_auth_method: isPublic ? "none" : usesSecret ? "client_secret_basic" : "private_key_jwt",
      client_secret: usesSecret && !isMasked ? secret : undefined,
      jwks_uri: isPublic || usesSecret ? undefined : textOf(attributes["jwks.url"]),
      redirect_uris: isStandard ? client["redirectUris"] : [],
      post_logout_redirect_uris: textOf(attributes["post.logout.redirect.uris"])
        ?.split("##")
        .filter((uri) => uri !== "+" && uri !== "-"),
      grant_types: grants,
      scope: isStandard ? scope.join(" ") : undefined,
    }),
    leftOut,
  };
}

function reasonAgainst(client: Json): string | undefined {
  const protocol = client["protocol"];
  if (ownClients.includes(wordOf(client["clientId"]))) return "client of Keycloak itself";
  if (client["bearerOnly"] === true) return "bearer-only client: register a resource server";
  if (protocol === "saml") return "SAML client: there is no SAML here";
  return protocol === undefined || protocol === "openid-connect" ? undefined : `protocol ${wordOf(protocol)}`;
}

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
