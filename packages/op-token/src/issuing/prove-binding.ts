import { type Confirmation, isConfirmedBy } from "@edge-op/protocol/oauth/confirmation";
import type { GrantRequest } from "../grant.ts";

/** **Whether a request proves the key that a presented token is bound to** (RFC 7800 §3), by a DPoP proof or by its certificate. */
export function isBindingProven(
  { proof, certificate }: Pick<GrantRequest, "proof" | "certificate">,
  cnf: Confirmation,
) {
  return cnf.method === "x5t#S256"
    ? cnf.thumbprint === certificate?.thumbprint
    : cnf.method === "jkt" && isConfirmedBy(cnf, proof?.cnf);
}
