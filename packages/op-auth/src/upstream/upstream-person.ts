import type { JsonObject } from "@edge-op/protocol/encoding/json-object";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";

/** **A person as an upstream provider describes them**, after its response was verified. */
export interface UpstreamPerson {
  /** With the subject the key of the identity. */
  readonly issuer: string;
  readonly subject: string;
  readonly address: UpstreamAddress | undefined;
  /** The `acr` of the ID token. */
  readonly acr: string | undefined;
  readonly authTimeMs: number | undefined;
  /** All claims, unchecked. */
  readonly claims: JsonObject;
}

export interface UpstreamAddress {
  readonly address: string;
  /** Whether this provider believes that the address belongs to the person. */
  readonly isBelieved: boolean;
}

/** The domain of an address, in lower case and as A-label; `undefined` for text that is no address. */
export function domainOf(address: string): string | undefined {
  return parseEmailAddress(address)?.key.split("@")[1];
}

/** Whether the record's list contains the domain of an address. */
export function isTrustedDomain({ document }: Upstream, address: string): boolean {
  const domain = domainOf(address);
  return domain !== undefined && document.trusted_domains.some((each) => each === "*" || each === domain);
}
