import {
  type DerElement,
  type DistinguishedName,
  nameInCertificate,
  readDer,
  readObjectIdentifier,
} from "./distinguished-name.ts";

/** The statements of a client certificate about its holder (RFC 8705 §2.1.2), and its validity. */
export interface CertificateNames {
  readonly subject: DistinguishedName | undefined;
  readonly dns: readonly string[];
  readonly uri: readonly string[];
  /** Addresses in the canonical form of {@link canonicalAddress}. */
  readonly ip: readonly string[];
  readonly email: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

const explicitVersion = 0xa0;
const explicitExtensions = 0xa3;
const subjectAlternativeName = "2.5.29.17";
const generalNames = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const;

/**
 * **Reads the names and the validity of an X.509 certificate** from its DER encoding; `undefined` if it is malformed. Names are compared by their
 * encoded octets, so a separator within a name cannot split it in two. Does not verify the certificate. Pure.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5280#section-4.1
 */
export function readCertificateNames(der: Uint8Array): CertificateNames | undefined {
  const [certificate, ...others] = readDer(der) ?? [];
  const [signed] = certificate === undefined || others.length > 0 ? [] : (readDer(certificate.content) ?? []);
  const fields = signed === undefined ? undefined : readDer(signed.content);
  if (fields === undefined) return undefined;
  const [, , , validity, subject] = fields[0]?.tag === explicitVersion ? fields.slice(1) : fields;
  const [notBeforeMs, notAfterMs] = (validity === undefined ? [] : (readDer(validity.content) ?? [])).map(readTime);
  if (subject === undefined || notBeforeMs === undefined || notAfterMs === undefined) return undefined;
  const names = alternativeNames(fields.find(({ tag }) => tag === explicitExtensions));
  if (names === undefined) return undefined;
  const textsOf = (kind: number) => names.filter(({ tag }) => tag === kind).map(({ content }) => latin1(content));
  return {
    subject: nameInCertificate(subject.content),
    dns: textsOf(generalNames.dns),
    uri: textsOf(generalNames.uri),
    ip: names.filter(({ tag }) => tag === generalNames.ip).flatMap(({ content }) => formatAddress(content) ?? []),
    email: textsOf(generalNames.email),
    notBeforeMs,
    notAfterMs,
  };
}

/** The canonical form of an address, because IPv6 addresses have many. `undefined` for anything else. */
export function canonicalAddress(address: string): string | undefined {
  const host = address.includes(":") ? `[${address}]` : address;
  if (!/^(\[[0-9a-f:.]+\]|\d+(\.\d+){3})$/i.test(host) || !URL.canParse(`http://${host}/`)) return undefined;
  return new URL(`http://${host}/`).hostname;
}

/** Empty without the extension; `undefined` if it is malformed. */
function alternativeNames(extensions: DerElement | undefined): readonly DerElement[] | undefined {
  if (extensions === undefined) return [];
  const [list] = readDer(extensions.content) ?? [];
  for (const { content } of (list === undefined ? undefined : readDer(list.content)) ?? []) {
    const parts = readDer(content) ?? [];
    const [identifier] = parts;
    if (identifier === undefined || readObjectIdentifier(identifier.content) !== subjectAlternativeName) continue;
    const [names] = readDer(parts.at(-1)!.content) ?? [];
    return names === undefined ? undefined : readDer(names.content);
  }
  return [];
}

/** UTCTime (two digits of the year, until 2049) or GeneralizedTime, in UTC (RFC 5280 §4.1.2.5). */
function readTime({ tag, content }: DerElement): number | undefined {
  const match = /^(\d{2}|\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z$/.exec(latin1(content));
  if (match === null || match[1]!.length !== (tag === 0x17 ? 2 : 4)) return undefined;
  const [year = 0, month = 0, ...rest] = match.slice(1).map(Number);
  const fullYear = tag === 0x17 ? year + (year < 50 ? 2000 : 1900) : year;
  return Date.UTC(fullYear, month - 1, ...(rest as [number, number, number, number]));
}

function formatAddress(octets: Uint8Array): string | undefined {
  if (octets.length === 4) return octets.join(".");
  if (octets.length !== 16) return undefined;
  const groups = Array.from({ length: 8 }, (_, at) => (octets[2 * at]! * 256 + octets[2 * at + 1]!).toString(16));
  return canonicalAddress(groups.join(":"));
}

function latin1(octets: Uint8Array): string {
  return String.fromCharCode(...octets);
}
