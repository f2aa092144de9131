/** One element of a DER encoding. */
export interface DerElement {
  /** The identifier octet: class, form and number of the tag. */
  readonly tag: number;
  readonly content: Uint8Array;
}

/**
 * **Reads consecutive elements of a DER encoding**; `undefined` if one is incomplete or not in the form that certificates use: a tag of one octet and
 * a definite length of at most four octets. Pure; the cost grows with the number of elements.
 *
 * @see https://www.itu.int/rec/T-REC-X.690
 */
export function readDer(bytes: Uint8Array): readonly DerElement[] | undefined {
  const elements: DerElement[] = [];
  let at = 0;
  while (at < bytes.length) {
    const tag = bytes[at]!;
    const first = bytes[at + 1];
    if (first === undefined || (tag & 0x1f) === 0x1f) return undefined;
    const lengthOctets = first < 0x80 ? 0 : first & 0x7f;
    if (first === 0x80 || lengthOctets > 4) return undefined;
    const start = at + 2 + lengthOctets;
    if (start > bytes.length) return undefined;
    const length =
      lengthOctets === 0 ? first : bytes.subarray(at + 2, start).reduce((sum, octet) => sum * 256 + octet, 0);
    if (length > bytes.length - start) return undefined;
    elements.push({ tag, content: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return elements;
}

/** The dotted form of an object identifier; `undefined` for an empty or truncated one. */
export function readObjectIdentifier(content: Uint8Array): string | undefined {
  if (content.length === 0 || content.at(-1)! >= 0x80) return undefined;
  const numbers: number[] = [];
  let number = 0;
  for (const octet of content) {
    number = number * 128 + (octet & 0x7f);
    if (octet < 0x80) {
      numbers.push(number);
      number = 0;
    }
  }
  const [first = 0, ...rest] = numbers;
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - root * 40, ...rest].join(".");
}

/**
 * **Distinguished names in a comparable form**: from a certificate, and from the RFC 4514 string that a client registers. Attribute types are object
 * identifiers. The comparison of values ignores case and repeated spaces (RFC 5280 §7.1). Pure.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4514#section-2
 */
export type DistinguishedName = readonly string[];

/** Short names of RFC 4514 §3, and those that OpenSSL prints for certificates of banks and web servers. */
const attributeTypes: Readonly<Record<string, string>> = {
  CN: "2.5.4.3",
  SN: "2.5.4.4",
  SERIALNUMBER: "2.5.4.5",
  C: "2.5.4.6",
  L: "2.5.4.7",
  ST: "2.5.4.8",
  STREET: "2.5.4.9",
  O: "2.5.4.10",
  OU: "2.5.4.11",
  TITLE: "2.5.4.12",
  BUSINESSCATEGORY: "2.5.4.15",
  POSTALCODE: "2.5.4.17",
  GN: "2.5.4.42",
  ORGANIZATIONIDENTIFIER: "2.5.4.97",
  UID: "0.9.2342.19200300.100.1.1",
  DC: "0.9.2342.19200300.100.1.25",
  EMAILADDRESS: "1.2.840.113549.1.9.1",
  JURISDICTIONL: "1.3.6.1.4.1.311.60.2.1.1",
  JURISDICTIONST: "1.3.6.1.4.1.311.60.2.1.2",
  JURISDICTIONC: "1.3.6.1.4.1.311.60.2.1.3",
};

/** The name in a certificate, which lists the least specific part first; the result lists the most specific first, as RFC 4514 does. */
export function nameInCertificate(name: Uint8Array): DistinguishedName | undefined {
  const parts = readDer(name)?.map(({ content }) => readDer(content)?.map(formatAttribute));
  return parts === undefined ? undefined : joinParts(parts.reverse());
}

/** The name that a string describes; `undefined` for a malformed one. */
export function parseDistinguishedName(text: string): DistinguishedName | undefined {
  return joinParts(splitUnescaped(text, ",").map((part) => splitUnescaped(part, "+").map(parseAttribute)));
}

export function isSameName(left: DistinguishedName, right: DistinguishedName): boolean {
  return left.length === right.length && left.every((part, index) => part === right[index]);
}

/** Sorts the attributes of a part, because they are a set. */
function joinParts(parts: readonly (readonly (string | undefined)[] | undefined)[]): DistinguishedName | undefined {
  const joined: string[] = [];
  for (const part of parts) {
    const known = part?.filter((attribute) => attribute !== undefined);
    if (known === undefined || known.length === 0 || known.length !== part?.length) return undefined;
    joined.push(JSON.stringify(known.toSorted()));
  }
  return joined.length === 0 ? undefined : joined;
}

function formatAttribute({ content }: DerElement): string | undefined {
  const [type, value] = readDer(content) ?? [];
  const identifier = type === undefined ? undefined : readObjectIdentifier(type.content);
  const text = value === undefined ? undefined : readText(value);
  return identifier === undefined || text === undefined ? undefined : `${identifier}=${comparable(text)}`;
}

function parseAttribute(attribute: string): string | undefined {
  const equals = attribute.indexOf("=");
  const type = attribute
    .slice(0, Math.max(0, equals))
    .trim()
    .toUpperCase()
    .replace(/^OID\./, "");
  const identifier = /^\d+(\.\d+)+$/.test(type) ? type : attributeTypes[type];
  const value = readValue(attribute.slice(equals + 1).trimStart());
  return identifier === undefined || value === undefined ? undefined : `${identifier}=${comparable(value)}`;
}

/** Reads the escapes of RFC 4514 §2.4: a special character, or an octet of UTF-8. `#` precedes the octets of an encoded value. */
function readValue(text: string): string | undefined {
  if (text.startsWith("#")) {
    const [value, ...others] = (/^#([0-9a-f]{2})+$/i.test(text) ? readDer(octetsOf(text.slice(1))) : undefined) ?? [];
    return value === undefined || others.length > 0 ? undefined : readText(value);
  }
  if (/\\(?![0-9a-f]{2}|[ "#+,;<=>\\])/i.test(text)) return undefined;
  return text
    .replace(/(?:\\[0-9a-f]{2})+/gi, (run) => new TextDecoder().decode(octetsOf(run.replaceAll("\\", ""))))
    .replace(/\\(.)/g, "$1");
}

function octetsOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

const encodings: Readonly<Record<number, string>> = {
  12: "utf-8",
  19: "utf-8",
  20: "windows-1252",
  22: "utf-8",
  30: "utf-16be",
};

/** An X.520 string by its tag; `undefined` for another type, which no registered name describes. */
function readText({ tag, content }: DerElement): string | undefined {
  const encoding = encodings[tag];
  return encoding === undefined ? undefined : new TextDecoder(encoding).decode(content);
}

function comparable(text: string): string {
  return text.normalize("NFKC").replace(/\s+/g, " ").trim().toLowerCase();
}

function splitUnescaped(text: string, separator: "," | "+"): readonly string[] {
  const parts = [""];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]!;
    if (character === separator) {
      parts.push("");
      continue;
    }
    parts[parts.length - 1] += character === "\\" ? text.slice(at, at + 2) : character;
    if (character === "\\") at += 1;
  }
  return parts;
}
