export const issuersPath = "/console/issuers";

/** The path of an issuer's page, and of a page below it. */
export function issuerPath(issuerId: string, below = ""): string {
  return `${issuersPath}/${encodeURIComponent(issuerId)}${below}`;
}

export interface IssuerResource {
  readonly issuer_id: string;
  readonly issuer: string;
  readonly status: string;
  readonly algorithms?: readonly string[];
  readonly rules?: readonly { readonly rule_id: string }[];
}
