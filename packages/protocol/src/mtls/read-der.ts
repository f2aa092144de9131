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
