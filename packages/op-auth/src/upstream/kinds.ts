import type { JsonObject } from "@edge-op/protocol/encoding/json-object";
import type { Upstream, UpstreamDocument } from "@edge-op/shared/upstreams/upstream";
import { isTrustedDomain } from "./upstream-person.ts";

/** **How providers of a kind differ**: everything else is OpenID Connect by discovery. */
export interface UpstreamKind {
  issuerOf(document: UpstreamDocument): string;
  readonly scopes: readonly string[];
  /** Whether it authenticates again when asked (`prompt=login`), and says when it did (`auth_time`). */
  readonly reauthenticates: boolean;
  /** Whether the address of verified claims belongs to the person. */
  isBelieved(upstream: Upstream, claims: JsonObject, address: string): boolean;
}

const oidc: UpstreamKind = {
  issuerOf: ({ issuer = "" }) => issuer,
  scopes: ["openid", "profile", "email"],
  reauthenticates: true,
  // A flag alone: a text would be true too (GHSA-992q-9gwp-7r79).
  isBelieved: (upstream, { email_verified: isVerified }, address) =>
    isVerified === true && isTrustedDomain(upstream, address),
};

export const upstreamKinds: Readonly<Record<UpstreamDocument["kind"], UpstreamKind>> = { oidc };
