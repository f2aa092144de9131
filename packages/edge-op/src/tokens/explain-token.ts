import { compactVerify, createLocalJWKSet, decodeJwt, decodeProtectedHeader, errors, type JWTPayload } from "jose";
import { tokenIntrospection } from "openid-client";
import * as z from "zod";
import { asFailure, discover, unreachable } from "../connection/authorize.ts";
import type { Connection } from "../connection/connection.ts";
import type { Context } from "../connection/contexts.ts";
import { Failure } from "../console/failure.ts";
import type { Finding } from "../console/findings.ts";
import { requireForm } from "../console/read-document.ts";
import { readPages } from "../operations/print-list.ts";
import { type ApiResponse, readResponse } from "../provider-api.ts";

/** Time for one document. */
const documentMs = 15_000;

export interface ProviderDocument extends ApiResponse {
  /** The provider's clock. */
  readonly now: Date;
}

/** **A public document of a provider**, and the time at which it was sent. */
export async function fetchProvider(url: string): Promise<ProviderDocument> {
  try {
    const init = { redirect: "manual", signal: AbortSignal.timeout(documentMs) } as const;
    const response = await readResponse(await fetch(url, init));
    const date = response.headers.get("date");
    if (response.status >= 500) throw new Failure("unavailable", `${url} responded with ${response.status}.`);
    return { ...response, now: date === null ? new Date() : new Date(date) };
  } catch (error) {
    throw unreachable(error) ?? error;
  }
}

const metadataSchema = z.object({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  end_session_endpoint: z.url().optional(),
  jwks_uri: z.url(),
  id_token_signing_alg_values_supported: z.array(z.string()).optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
});

const keySetSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string(), kid: z.string().exactOptional() })) });

/** The members of provider metadata that are examined. */
export type Metadata = z.output<typeof metadataSchema>;

/** @see https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata */
export function readMetadata(url: string, { body }: ProviderDocument): Metadata {
  return requireForm(`The metadata at ${url}`, metadataSchema, body);
}

/** **The keys of a provider.** @see https://www.rfc-editor.org/rfc/rfc7517#section-5 */
export async function fetchKeys(url: string): Promise<z.output<typeof keySetSchema>> {
  return requireForm(`The key set at ${url}`, keySetSchema, (await fetchProvider(url)).body);
}

/** Other servers accept as much difference between clocks. */
const toleratedSeconds = 30;
/** Events are read back to the token's issue, as far as this many pages. */
const mostPages = 5;
const endings = [
  "grant.revoked",
  "token.revoked",
  "cut-off",
  "refresh_token_reused",
  "code.replayed",
  "device_code.replayed",
];

/**
 * **Why a token is not accepted**: what the token itself says, the provider's keys, introspection, and the client, user and audit events behind it.
 * Parts that the context may not read are `unknown`.
 */
export async function explainToken(connection: Connection, token: string): Promise<Finding[]> {
  if (token.startsWith("rt.")) return [await isActive(connection, token)];
  let claims: JWTPayload;
  try {
    claims = decodeJwt(token);
  } catch {
    const mend = "Compare it with the token response: it may be cut, or be another value.";
    return [{ check: "form", result: "wrong", text: "It is neither a JWT nor a refresh token of Edge OP.", mend }];
  }
  const own = [
    kindOf(token, claims),
    issuerOf(connection, claims),
    await signatureOf(connection, token),
    await timeOf(connection, claims),
  ];
  const active = await isActive(connection, token);
  if (active.result === "right") return [...own, active];
  const behind = await Promise.all([
    clientOf(connection, claims),
    userOf(connection, claims),
    endOf(connection, claims),
    sightOf(connection, claims),
  ]);
  return [...own, ...behind, active];
}

function kindOf(token: string, { nonce, at_hash: hash }: JWTPayload): Finding {
  const { typ = "none" } = decodeProtectedHeader(token);
  const isAccess =
    /^(application\/)?at\+jwt$/i.test(typ) || (typ === "JWT" && nonce === undefined && hash === undefined);
  if (isAccess) return { check: "kind", result: "right", text: `an access token (typ ${typ})` };
  const mend = "Send the access_token of the token response, not the id_token.";
  return { check: "kind", result: "wrong", text: `no access token (typ ${typ})`, mend };
}

function issuerOf({ issuer }: Connection, { iss }: JWTPayload): Finding {
  if (iss === issuer) return { check: "issuer", result: "right", text: issuer };
  return {
    check: "issuer",
    result: "wrong",
    text: `${iss}, not ${issuer}`,
    mend: "Ask the provider that issued it: edge-op context use.",
  };
}

async function signatureOf({ issuer }: Connection, token: string): Promise<Finding> {
  const { kid = "none", alg = "none" } = decodeProtectedHeader(token);
  const keys = await fetchKeys(`${issuer}/jwks`);
  try {
    await compactVerify(token, createLocalJWKSet(keys));
    return { check: "signature", result: "right", text: `${alg} by ${kid}` };
  } catch (error) {
    const isGone = error instanceof errors.JWKSNoMatchingKey;
    const text = isGone ? `the key ${kid} (${alg}) is not in /jwks` : "not by this provider";
    const mend = isGone
      ? "The key was revoked or has retired: get a new token."
      : "The token was changed, or is of another provider.";
    return { check: "signature", result: "wrong", text, mend };
  }
}

async function timeOf({ issuer }: Connection, { exp = 0, nbf = 0 }: JWTPayload): Promise<Finding> {
  const { now } = await fetchProvider(`${issuer}/.well-known/openid-configuration`);
  const atSeconds = now.getTime() / 1000;
  if (exp <= atSeconds) {
    const mend = "Get a new one by the refresh token, or sign in again.";
    return { check: "time", result: "wrong", text: `expired ${Math.round(atSeconds - exp)} s ago`, mend };
  }
  if (nbf > atSeconds + toleratedSeconds)
    return { check: "time", result: "wrong", text: "not valid yet by the provider's clock" };
  return { check: "time", result: "right", text: `valid for ${Math.round(exp - atSeconds)} s` };
}

async function isActive(connection: Connection, token: string): Promise<Finding> {
  return known("introspection", async () => {
    const { active } = await introspect(connection.context, token);
    if (active === true) return { check: "introspection", result: "right", text: "active" };
    return { check: "introspection", result: "wrong", text: `inactive for ${connection.context.client_id}` };
  });
}

async function clientOf(connection: Connection, { client_id: id }: JWTPayload): Promise<Finding> {
  return known("client", async () => {
    if (typeof id !== "string") return { check: "client", result: "unknown", text: "the token names none" };
    const found = await connection.find(`/clients/${encodeURIComponent(id)}`);
    if (found === undefined) return { check: "client", result: "wrong", text: `${id} does not exist any longer` };
    if (found.body["status"] === "active") return { check: "client", result: "right", text: `${id} is active` };
    return {
      check: "client",
      result: "wrong",
      text: `${id} is disabled`,
      mend: `edge-op clients update ${id} --status active`,
    };
  });
}

async function userOf(connection: Connection, { sub, client_id: client }: JWTPayload): Promise<Finding> {
  return known("user", async () => {
    if (sub === undefined || sub === client) return { check: "user", result: "right", text: "a client's own token" };
    const found = await connection.find(`/users/${encodeURIComponent(sub)}`);
    if (found === undefined) {
      return {
        check: "user",
        result: "unknown",
        text: `there is no user ${sub}: it was deleted, or the sub is pairwise`,
      };
    }
    if (found.body["status"] === "active") return { check: "user", result: "right", text: `${sub} is active` };
    return {
      check: "user",
      result: "wrong",
      text: `${sub} is suspended`,
      mend: `edge-op users update ${sub} --status active`,
    };
  });
}

/** The newest event that ended the token, its grant, or everything of its user or client. */
async function endOf(
  connection: Connection,
  { jti = "", iat = 0, sub, client_id: client }: JWTPayload,
): Promise<Finding> {
  return known("revocation", async () => {
    const grant = jti.slice(0, jti.lastIndexOf(".")).split(":").at(-1) ?? "";
    const named = [jti, grant].filter((id) => id !== "");
    for (const type of endings) {
      const query = { type, from: String(iat) };
      let count = 0;
      for await (const { items } of readPages(connection, { path: "/audit", query, member: "events", all: true })) {
        const event = items.find((item) => {
          const text = JSON.stringify(item);
          return type === "cut-off" ? names(item, [sub, client]) : named.some((id) => text.includes(id));
        });
        if (event !== undefined) {
          const by = typeof event["actor"] === "string" ? ` by ${event["actor"]}` : "";
          const text = `${type} at ${String(event["time"])}${by}: ${JSON.stringify(event["detail"])}`;
          return {
            check: "revocation",
            result: "wrong",
            text,
            mend: "The user must sign in again, or the client must get a new token.",
          };
        }
        count += 1;
        if (count >= mostPages) break;
      }
    }
    return { check: "revocation", result: "right", text: "the audit log has no event that ended it" };
  });
}

function names(event: Readonly<Record<string, unknown>>, ids: readonly unknown[]): boolean {
  const { id } = (event["detail"] ?? {}) as { readonly id?: unknown };
  return [event["sub"], event["client_id"], id].some((value) => value !== undefined && ids.includes(value));
}

/** A live token is inactive for a client that may not see it (RFC 7662 §4). */
async function sightOf(connection: Connection, { client_id: client, aud }: JWTPayload): Promise<Finding> {
  const id = connection.context.client_id;
  const audiences = [aud ?? []].flat();
  return known("sight", async () => {
    const own = { check: "sight", result: "right", text: `${id} may introspect it` } as const;
    if (client === id || audiences.includes(id)) return own;
    const found = await connection.find(`/clients/${encodeURIComponent(id)}`);
    const { clients = [], audiences: seen = [] } = (found?.body["introspection"] ?? {}) as Partial<
      Record<string, string[]>
    >;
    if (
      clients.includes("*") ||
      clients.includes(String(client)) ||
      audiences.some((audience) => seen.includes(audience))
    )
      return own;
    const text = `${id} may not introspect tokens of ${String(client)}: they are inactive for it, live or not`;
    return {
      check: "sight",
      result: "unknown",
      text,
      mend: "Ask as the resource server: edge-op tokens introspect --client-id …",
    };
  });
}

/** A record that the context may not read is unknown, not wrong. */
async function known(check: string, look: () => Promise<Finding>): Promise<Finding> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof Failure) || error.outcome === "unavailable") throw error;
    return { check, result: "unknown", text: error.message.split("\n")[0]! };
  }
}

/** **Introspects a token** as a client. @see https://www.rfc-editor.org/rfc/rfc7662 */
export async function introspect(
  client: Pick<Context, "issuer" | "client_id" | "client_secret" | "private_jwk">,
  token: string,
): Promise<Readonly<Record<string, unknown>>> {
  if (client.client_secret === undefined && client.private_jwk === undefined) {
    throw new Failure(
      "noRights",
      `${client.client_id} has no credential, so it may not introspect. Name a client: --client-id.`,
    );
  }
  const config = await discover(client);
  return asFailure(() => tokenIntrospection(config, token));
}
