import { decodeBase64 } from "@edge-op/protocol/encoding/bytes";
import type { FieldError } from "@edge-op/protocol/oauth/errors";
import { refuseClientUrl } from "@edge-op/shared/http/client-url";
import { invalidFields, requireValid } from "@edge-op/shared/http/require-valid";
import { keyFingerprint } from "@edge-op/shared/secrets/deployment-facts";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { sealText } from "@edge-op/shared/secrets/seal";
import { upstreamSeal } from "@edge-op/shared/upstreams/upstream";
import type * as z from "zod";
import { writableUpstream } from "./upstream-schema.ts";
import type { StoredUpstream } from "./upstream-table.ts";

type Input = z.output<typeof writableUpstream>;
type Record = Pick<StoredUpstream, "status" | "document" | "secret" | "sealedBy">;

interface Deployment {
  readonly env: MasterKeyBindings;
  readonly settings: { readonly issuer: string };
}

/**
 * **Completes and checks an upstream provider** before it is stored, and seals its secret. Refuses it with every fault. `known`: the record before a
 * patch, whose secret stays unless another one is given or the authentication changes.
 */
export async function requireUpstream(
  { env, settings }: Deployment,
  upstreamId: string,
  input: unknown,
  known?: Record,
): Promise<Record> {
  const {
    status,
    client_secret: clientSecret,
    private_key: privateKey,
    ...document
  } = requireValid(writableUpstream, input);
  const usesKey = document.token_endpoint_auth_method === "private_key_jwt";
  const given = usesKey ? privateKey : clientSecret;
  const keepsSecret =
    known !== undefined && (known.document.token_endpoint_auth_method === "private_key_jwt") === usesKey;
  const kept = keepsSecret ? known : undefined;
  const secretMember = usesKey ? "private_key" : "client_secret";
  const faults = [
    ...documentFaults(document, settings.issuer),
    ...fault(given === undefined && kept?.secret === undefined, secretMember, "is required"),
    ...fault(
      (usesKey ? clientSecret : privateKey) !== undefined,
      usesKey ? "client_secret" : "private_key",
      "belongs to another token_endpoint_auth_method",
    ),
    ...fault(
      usesKey && given !== undefined && !(await isSigningKey(given)),
      "private_key",
      "must be an EC key of P-256, PKCS #8 in PEM",
    ),
  ];
  if (faults.length > 0) throw invalidFields(faults);
  if (given === undefined) return { status, document, secret: kept?.secret, sealedBy: kept?.sealedBy };
  const secret = await sealText(env, "upstream-seal", given, { bound: upstreamSeal(upstreamId) });
  return { status, document, secret, sealedBy: await keyFingerprint(env.OP_MASTER_KEY) };
}

type Document = Omit<Input, "status" | "client_secret" | "private_key">;

function documentFaults(
  { issuer, scopes, sign_up: signUp, domains, token_endpoint_auth_method: method, key_id: keyId }: Document,
  ownIssuer: string,
): FieldError[] {
  const issuerFault = findIssuerFault(issuer, ownIssuer);
  return [
    ...fault(issuerFault !== undefined, "issuer", issuerFault ?? ""),
    ...fault(scopes?.includes("openid") === false, "scopes", "must contain openid"),
    ...fault(
      signUp === "domains" && Object.keys(domains).length === 0,
      "domains",
      "must name a domain for sign_up domains",
    ),
    ...fault(keyId !== undefined && method !== "private_key_jwt", "key_id", "belongs to private_key_jwt"),
  ];
}

function findIssuerFault(issuer: string | undefined, ownIssuer: string): string | undefined {
  if (issuer === undefined) return "is required";
  const refusal = refuseClientUrl(issuer, ownIssuer);
  if (refusal !== undefined) return `must be https on a public host: it is ${refusal}`;
  return /[?#]/.test(issuer) ? "must have no query and no fragment" : undefined;
}

function fault(broken: boolean, path: string, message: string): FieldError[] {
  return broken ? [{ path, message }] : [];
}

async function isSigningKey(pem: string): Promise<boolean> {
  const der = decodeBase64(pem.replace(/-----(BEGIN|END) PRIVATE KEY-----|\s/g, ""));
  if (der === undefined) return false;
  try {
    await crypto.subtle.importKey("pkcs8", der, { name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
    return true;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}
