/** **An e-mail address that mail can be sent to**, in the form in which addresses are compared and in the one in which mail is sent. */
export interface EmailAddress {
  /** Lower case, with the domain as A-label: equal for all spellings of an address. */
  readonly key: string;
  /** As it was given, with the domain as A-label. */
  readonly address: string;
}

/** RFC 5321 §4.5.3.1.3: 256 octets with the angle brackets. */
const longestAddress = 254;
/** RFC 5321 §4.5.3.1.1 */
const longestLocalPart = 64;
/** RFC 5321 §4.1.2 `Dot-string`, without RFC 6531's other characters: two of them may look the same. */
const localPart = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i;
const domainText = /^[\p{L}\p{M}\p{N}.-]+$/u;
/** At least two labels, the last of which is no number: an address literal is no domain. */
const domainName = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?!\d+$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

/**
 * Reads an address; `undefined` for text that is none, and for quoted local parts, address literals and local parts that are not ASCII. Dots and `+` are
 * kept: what they mean is known to the receiver alone. Pure.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5321#section-4.1.2
 * @see https://www.rfc-editor.org/rfc/rfc5891#section-4
 */
export function parseEmailAddress(text: string): EmailAddress | undefined {
  const [local = "", unicodeDomain = "", ...rest] = text.trim().normalize("NFC").split("@");
  if (rest.length > 0 || local.length > longestLocalPart || !localPart.test(local)) return undefined;
  const domain = toAsciiDomain(unicodeDomain);
  if (domain === undefined) return undefined;
  const address = `${local}@${domain}`;
  return address.length > longestAddress ? undefined : { key: address.toLowerCase(), address };
}

function toAsciiDomain(domain: string): string | undefined {
  if (!domainText.test(domain) || !URL.canParse(`http://${domain}`)) return undefined;
  const ascii = new URL(`http://${domain}`).hostname;
  return domainName.test(ascii) ? ascii : undefined;
}
