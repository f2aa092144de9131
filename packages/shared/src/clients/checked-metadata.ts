import type { JsonObject } from "@edge-op/protocol/encoding/json-object";
import type { FieldError } from "@edge-op/protocol/oauth/errors";
import * as z from "zod";
import { isolateMemory, limits } from "../config/limits.ts";
import { type ClientUrlResult, fetchClientUrl, isJsonType } from "../http/fetch-client-url.ts";
import { HostBudget, HostBusyError } from "../http/host-budget.ts";
import type { RequestContext } from "../http/request-context.ts";
import { invalidFields, requireValid, validate, wrongMembers } from "../http/require-valid.ts";
import { log } from "../runtime/log.ts";
import type { ClientMetadata } from "./client.ts";
import { clientErrorCode, clientFaults, type RuleSettings } from "./client-rules.ts";
import { metadataSchema } from "./client-schema.ts";
import type { jwksSchema } from "./jwks-schema.ts";
import { chooseMetadata } from "./metadata-choices.ts";

/**
 * **Default client metadata**: those of RFC 7591, and least privilege for the extensions. They are filled in when a client is
 * written, so that a later default changes no registered client.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2
 */
export function withDefaults(document: JsonObject): JsonObject {
  const grantTypes = document.grant_types ?? ["authorization_code"];
  const code = Array.isArray(grantTypes) && grantTypes.includes("authorization_code");
  return {
    application_type: "web",
    token_endpoint_auth_method: "client_secret_basic",
    grant_types: grantTypes,
    response_types: code ? ["code"] : [],
    redirect_uris: [],
    scope: code ? "openid" : "",
    audiences: [],
    ...document,
  };
}

/** **Completes and checks a client document** before it is stored: fills in defaults, applies every rule, and refuses with each fault. */
export async function requireDocument(document: JsonObject, settings: RuleSettings): Promise<ClientMetadata> {
  const faults = await findDocumentFaults(document, settings);
  if (faults.length > 0) throw invalidFields(faults, clientErrorCode);
  return requireValid(metadataSchema, withDefaults(chooseMetadata(document).document), clientErrorCode);
}

/** Every fault of a document, of its members and by the rules, except faults of members that are known to be `wrong`. */
export async function findDocumentFaults(
  document: JsonObject,
  settings: RuleSettings,
  wrong: ReadonlySet<string> = new Set(),
): Promise<readonly FieldError[]> {
  const choice = chooseMetadata(document);
  const completed = withDefaults(choice.document);
  const result = validate(metadataSchema, completed);
  const own = result.valid ? [] : result.fields.filter((field) => !wrong.has([...wrongMembers([field])][0] ?? ""));
  const doubtful = new Set([...wrong, ...wrongMembers(own)]);
  // Rules skip the doubtful members; the others satisfy the schema.
  const readable = (result.valid ? result.data : completed) as z.output<typeof metadataSchema>;
  const faults = clientFaults(readable, settings, doubtful);
  const unchosen = choice.faults.filter(({ path }) => !wrong.has(path));
  return [...unchosen, ...own, ...faults, ...(doubtful.has("jwks") ? [] : await keyFaults(readable.jwks))];
}

/** Shared by all requests of this isolate. */
const sectorBudget = new HostBudget({
  perMinute: limits.documentFetchesPerMinute,
  maxBytes: isolateMemory.hostBudgets / 4,
});

/**
 * Checks `sector_identifier_uri`: its document must list every redirection URI. It is checked whenever either is written, because the clients of a
 * sector share pairwise subjects.
 *
 * @see https://openid.net/specs/openid-connect-registration-1_0.html#SectorIdentifierValidation
 */
export async function requireSector(context: RequestContext<unknown>, metadata: ClientMetadata): Promise<void> {
  const { sector_identifier_uri: uri, redirect_uris: redirectUris } = metadata;
  if (uri === undefined) return;
  const retryAfterSeconds = sectorBudget.spend(uri, context.arrivedAtMs);
  if (retryAfterSeconds !== undefined) throw new HostBusyError(uri, retryAfterSeconds);
  const message = findSectorFault(context, uri, await fetchClientUrl(uri, context.settings.issuer), redirectUris);
  if (message !== undefined) throw invalidFields([{ path: "sector_identifier_uri", message }], clientErrorCode);
}

function findSectorFault(
  { requestId }: RequestContext<unknown>,
  url: string,
  result: ClientUrlResult,
  redirectUris: readonly string[],
): string | undefined {
  if (result.kind !== "response" || result.status !== 200) {
    const reason = result.kind === "response" ? `status ${result.status}` : result.reason;
    log("document-not-fetched", { kind: "sector_identifier_uri", url, reason, requestId });
    // A text of the platform, such as a fault of the server's certificate, is for the log alone.
    return `could not be fetched: ${result.kind === "failed" ? "no complete response" : reason}`;
  }
  const listed = isJsonResponse(result.headers) ? readStrings(result.body) : undefined;
  if (listed === undefined) return "must return a JSON array of strings";
  const isComplete = redirectUris.every((redirectUri) => listed.includes(redirectUri));
  return isComplete ? undefined : "must list every redirection URI of the client";
}

/** Many servers send no media type for a file; a media type other than JSON is refused. */
function isJsonResponse(headers: Headers): boolean {
  const type = headers.get("content-type");
  return type === null || isJsonType(type);
}

function readStrings(text: string): readonly string[] | undefined {
  try {
    return z.array(z.string()).safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

type Jwks = z.output<typeof jwksSchema>;

/** Faults of keys that the platform does not import, such as an invalid point: every assertion signed by them would fail. */
async function keyFaults(jwks: Jwks | undefined): Promise<FieldError[]> {
  const faults = await Promise.all(
    (jwks?.keys ?? []).map(async (key, index) =>
      (await isImportable(key)) ? [] : [{ path: `jwks.keys[${index}]`, message: "is not a valid key" }],
    ),
  );
  return faults.flat();
}

async function isImportable(key: Jwks["keys"][number]): Promise<boolean> {
  try {
    await importPublicKey(key);
    return true;
  } catch (cause) {
    log("client-key-refused", { cause: String(cause) });
    return false;
  }
}

/** Imports only the members of the key itself, because the platform refuses a `use` or `key_ops` that does not match its usages. */
function importPublicKey(key: Jwks["keys"][number]): Promise<CryptoKey> {
  switch (key.kty) {
    case "RSA": {
      const { kty, n, e } = key;
      const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
      return crypto.subtle.importKey("jwk", { kty, n, e }, algorithm, false, ["verify"]);
    }
    case "EC": {
      const { kty, crv, x, y } = key;
      return crypto.subtle.importKey("jwk", { kty, crv, x, y }, { name: "ECDSA", namedCurve: crv }, false, ["verify"]);
    }
    case "OKP": {
      const { kty, crv, x } = key;
      return crypto.subtle.importKey("jwk", { kty, crv, x }, { name: crv }, false, crv === "Ed25519" ? ["verify"] : []);
    }
  }
}
