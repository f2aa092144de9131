import { Failure } from "../console/failure.ts";
import type { Finding } from "../console/findings.ts";
import { fetchKeys, fetchProvider, type Metadata, readMetadata } from "../tokens/explain-token.ts";
import type { RelyingParty } from "./relying-party.ts";

/** The clock difference that the provider tolerates (RFC 7519 §4.1.4). */
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
  const read = await findMetadata(url);
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
  if (protocol === "https:") return { check, result: "right", text: issuer };
  if (protocol === "http:" && isLocal) return { check, result: "right", text: `${issuer} is this machine` };
  const mend = `Configure https://${hostname}: by http anybody on the way reads the secret and the tokens.`;
  return { check, result: "wrong", text: `the issuer is ${protocol}//${hostname}`, mend };
}

async function findMetadata(
  url: string,
): Promise<{ readonly metadata: Metadata; readonly now: Date } | { readonly finding: Finding }> {
  const check = "discovery";
  try {
    const found = await fetchProvider(url);
    const { status, body, now } = found;
    if (status === 200 && typeof body["issuer"] === "string") return { metadata: readMetadata(url, found), now };
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
    const isMalformed = error.outcome === "refused";
    const mend = isMalformed
      ? "A proxy changes the document, or it belongs to another provider: compare it with the deployment."
      : "Compare host and port with the deployment; a proxy or firewall may be in between.";
    const text = isMalformed ? error.message : `${url}: ${error.message}`;
    return { finding: { check, result: "wrong", text, mend } };
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
  const current = await readKeyIds(url);
  if (!Array.isArray(current)) {
    const mend = "The library reads this document to verify tokens: compare it with the deployment.";
    return { check, result: "wrong", text: current.fault, mend };
  }
  if (jwks === undefined) return { check, result: "right", text: `${current.length} keys at ${url}` };
  const stored = new Set(jwks.keys.map(({ kid }) => kid));
  const missing = current.filter((kid) => !stored.has(kid));
  if (missing.length === 0) return { check, result: "right", text: "the stored keys are current" };
  const mend = `Read ${url} again when a token has an unknown kid, and at least once a day; do not keep the keys in the configuration.`;
  return { check, result: "wrong", text: `the stored keys lack ${missing.join(", ")}`, mend };
}

async function readKeyIds(url: string): Promise<(string | undefined)[] | { readonly fault: string }> {
  try {
    return (await fetchKeys(url)).keys.map(({ kid }) => kid);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { fault: error.message };
  }
}
