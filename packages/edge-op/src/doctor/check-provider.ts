import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { Failure } from "../console/failure.ts";
import type { Finding } from "../console/findings.ts";
import { fetchProvider } from "../tokens/provider-documents.ts";
import type { RelyingParty } from "./relying-party.ts";

export interface Metadata {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly end_session_endpoint?: string;
  readonly jwks_uri: string;
  readonly id_token_signing_alg_values_supported?: readonly string[];
  readonly token_endpoint_auth_methods_supported?: readonly string[];
}

/** What the provider tolerates (RFC 7519 §4.1.4). */
const toleratedSeconds = 30;

export interface ProviderExamination {
  readonly findings: readonly Finding[];
  /** Absent if the provider could not be read, so that nothing else can be examined. */
  readonly metadata?: Metadata;
}

/** **The provider as the relying party reaches it**: address, metadata, issuer, clock and keys. `nowMs` is the clock of the relying party. */
export async function checkProvider(party: RelyingParty, nowMs: number): Promise<ProviderExamination> {
  const address = checkAddress(party.issuer);
  if (address.result === "wrong") return { findings: [address] };
  const url = `${party.issuer.replace(/\/+$/, "")}/.well-known/openid-configuration`;
  const read = await readMetadata(url);
  if ("finding" in read) return { findings: [address, read.finding] };
  const { metadata, now } = read;
  const discovery: Finding = { check: "discovery", result: "right", text: url };
  const findings = [
    address,
    discovery,
    checkIssuer(party.issuer, metadata.issuer),
    checkClock(now, nowMs),
    await checkKeys(party, metadata),
  ];
  return { findings, metadata };
}

function checkAddress(issuer: string): Finding {
  const check = "https";
  if (!URL.canParse(issuer))
    return { check, result: "wrong", text: `"${issuer}" is not a URL`, mend: "Configure https:// and the host." };
  const { protocol, hostname } = new URL(issuer);
  const isLocal = hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
  if (protocol === "https:" || (protocol === "http:" && isLocal)) return { check, result: "right", text: protocol };
  const mend = `Configure https://${hostname}: by http anybody on the way reads the secret and the tokens.`;
  return { check, result: "wrong", text: `the issuer is ${protocol}//${hostname}`, mend };
}

async function readMetadata(
  url: string,
): Promise<{ readonly metadata: Metadata; readonly now: Date } | { readonly finding: Finding }> {
  const check = "discovery";
  try {
    const { status, body, now } = await fetchProvider(url);
    if (status === 200 && isJsonObject(body) && typeof body["issuer"] === "string") {
      return { metadata: body as unknown as Metadata, now };
    }
    const text = `${url} responded with ${status} and no metadata`;
    return {
      finding: {
        check,
        result: "wrong",
        text,
        mend: "The issuer is the origin of the provider, without a path: compare it with the deployment.",
      },
    };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const mend = "Compare host and port with the deployment; a proxy or firewall may be in between.";
    return { finding: { check, result: "wrong", text: `${url}: ${error.message}`, mend } };
  }
}

function checkIssuer(configured: string, actual: string): Finding {
  const check = "issuer";
  if (configured === actual) return { check, result: "right", text: actual };
  return {
    check,
    result: "wrong",
    text: `configured is ${configured}, the provider is ${actual}`,
    mend: `Configure ${actual}, byte for byte.`,
  };
}

function checkClock(now: Date, ownMs: number): Finding {
  const seconds = Math.round((ownMs - now.getTime()) / 1000);
  const check = "clock";
  if (Math.abs(seconds) <= toleratedSeconds)
    return { check, result: "right", text: `differs by ${Math.abs(seconds)} s` };
  const direction = seconds > 0 ? "ahead of" : "behind";
  const mend =
    "Set this machine's clock (NTP): assertions and proofs are refused, and ID tokens seem to be of the future or expired.";
  return { check, result: "wrong", text: `this clock is ${Math.abs(seconds)} s ${direction} the provider's`, mend };
}

async function checkKeys({ jwks }: RelyingParty, { jwks_uri: url }: Metadata): Promise<Finding> {
  const check = "keys";
  const { body } = await fetchProvider(url);
  const current = ((body["keys"] ?? []) as { readonly kid?: string }[]).map(({ kid }) => kid);
  if (jwks === undefined) return { check, result: "right", text: `${current.length} keys at ${url}` };
  const stored = new Set(jwks.keys.map(({ kid }) => kid));
  const missing = current.filter((kid) => !stored.has(kid));
  if (missing.length === 0) return { check, result: "right", text: "the stored keys are current" };
  const mend = `Read ${url} again when a token has an unknown kid, and at least once a day; do not keep the keys in the configuration.`;
  return { check, result: "wrong", text: `the stored keys lack ${missing.join(", ")}`, mend };
}
