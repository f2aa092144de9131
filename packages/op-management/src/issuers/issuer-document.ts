import { invalidFields, requireValid } from "@edge-op/shared/http/require-valid";
import { issuerDocumentSchema } from "@edge-op/shared/issuers/issuer-schema";
import type { IssuerDocument } from "@edge-op/shared/issuers/trusted-issuer";
import type { AccessToken } from "@edge-op/shared/tokens/verified-tokens";
import { requireAuthority } from "../admin/actor.ts";
import { completeRule, defaultDiscoveryUri, issuerFaults, issuerNameFault } from "./issuer-faults.ts";
import type { StoredIssuer } from "./issuer-table.ts";

/** **Completes and checks the document of an issuer** before it is stored. Refuses it with every fault. */
export function requireIssuerDocument(
  issuer: string,
  input: unknown,
  ownIssuer: string,
): { readonly status: StoredIssuer["status"]; readonly document: IssuerDocument } {
  const { status, ...valid } = requireValid(issuerDocumentSchema, input);
  const given = { ...valid, rules: valid.rules.map(completeRule) };
  const hasKeys = given.jwks !== undefined || given.jwks_uri !== undefined || given.discovery_uri !== undefined;
  const discoveryUri = hasKeys ? given.discovery_uri : defaultDiscoveryUri(issuer);
  const completed = discoveryUri === undefined ? given : { ...given, discovery_uri: discoveryUri };
  const nameFault = issuerNameFault(issuer, ownIssuer);
  const faults = [
    ...(nameFault === undefined ? [] : [{ path: "issuer", message: nameFault }]),
    ...issuerFaults({ ...completed, status }, ownIssuer),
  ];
  if (faults.length > 0) throw invalidFields(faults);
  // The faults include a subject that lacks the members of its type.
  return { status, document: completed as IssuerDocument };
}

/** Refuses to change an issuer whose rules grant admin scopes that the actor lacks. */
export function requireAuthorityOverIssuer(actor: AccessToken, { rules }: IssuerDocument): void {
  requireAuthority(
    actor,
    rules.flatMap(({ scopes }) => scopes),
  );
}
