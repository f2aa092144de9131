/**
 * **Choices of client metadata**: if a registration or a metadata document lists several values that the client supports, this provider chooses one,
 * and stores and returns it as the usual member: the one that the client prefers, if it is supported (§4); else the strongest authentication method
 * that the document's other members allow, and the cheapest algorithm. A list of encryption algorithms alone does not ask for encryption.
 *
 * @see https://openid.net/specs/openid-connect-rp-metadata-choices-1_0.html#ClientMetadata
 */

import type { JsonObject } from "@edge-op/protocol/encoding/json-object";
import { contentEncryptionAlgorithms, keyManagementAlgorithms } from "@edge-op/protocol/jwt/encryption-algorithms";
import { signingAlgorithms } from "@edge-op/protocol/jwt/signing-algorithms";
import type { FieldError } from "@edge-op/protocol/oauth/errors";
import { type ClientAuthMethod, usesCertificate, usesKey } from "@edge-op/protocol/oauth/registered-names";
import * as z from "zod";
import { securityProfiles } from "../config/setting-values.ts";
import { plainText } from "../http/plain-text.ts";
import { algorithmsWithin } from "./security-profile.ts";

interface Choice {
  readonly member: string;
  /** The values in order of preference. */
  values(document: JsonObject): readonly string[];
  /** Chooses nothing if the client names no value itself. */
  readonly ifAsked?: true;
}

const authMethods: readonly ClientAuthMethod[] = [
  "private_key_jwt",
  "tls_client_auth",
  "self_signed_tls_client_auth",
  "client_secret_basic",
  "client_secret_post",
  "none",
];

/** Whether the document has the members that a method requires: a subject for a certificate, or self-signed certificates in `jwks`. */
function hasMeans(document: JsonObject, method: ClientAuthMethod): boolean {
  const hasKeys = document["jwks"] !== undefined || document["jwks_uri"] !== undefined;
  if (method === "tls_client_auth") return Object.keys(document).some((name) => name.startsWith("tls_client_auth_"));
  return hasKeys || !(usesKey(method) || usesCertificate(method));
}

/** The choice of an algorithm; for a client with FAPI 2.0, without the algorithms that the profile excludes. */
function algorithmOf(member: string): Choice {
  return {
    member,
    values: ({ security_profile: named }) => {
      const profile = securityProfiles.find((each) => each === named) ?? "none";
      return algorithmsWithin(profile, signingAlgorithms);
    },
  };
}

const encryption = Object.fromEntries(
  (["id_token", "userinfo", "authorization", "request_object"] as const).flatMap((purpose) => {
    const prefix = purpose === "request_object" ? "request_object_encryption" : `${purpose}_encrypted_response`;
    const choice = (member: "alg" | "enc", values: readonly string[]) =>
      [
        `${purpose}_encryption_${member}_values_supported`,
        { member: `${prefix}_${member}`, values: () => values, ifAsked: true },
      ] as const;
    return [choice("alg", keyManagementAlgorithms), choice("enc", contentEncryptionAlgorithms)];
  }),
);

export const metadataChoices: Readonly<Record<string, Choice>> = {
  token_endpoint_auth_methods_supported: {
    member: "token_endpoint_auth_method",
    values: (document) => authMethods.filter((method) => hasMeans(document, method)),
  },
  token_endpoint_auth_signing_alg_values_supported: algorithmOf("token_endpoint_auth_signing_alg"),
  subject_types_supported: { member: "subject_type", values: () => ["public", "pairwise"] },
  id_token_signing_alg_values_supported: algorithmOf("id_token_signed_response_alg"),
  userinfo_signing_alg_values_supported: algorithmOf("userinfo_signed_response_alg"),
  introspection_signing_alg_values_supported: algorithmOf("introspection_signed_response_alg"),
  authorization_signing_alg_values_supported: algorithmOf("authorization_signed_response_alg"),
  request_object_signing_alg_values_supported: algorithmOf("request_object_signing_alg"),
  ...encryption,
};

/** The lists as members of a registration; they are never stored. */
export const choiceMembers = Object.fromEntries(
  Object.entries(metadataChoices).map(([name, { member }]) => {
    const described = `Values of ${member} that the client supports; one is chosen.`;
    return [name, z.array(plainText(100)).min(1).max(100).describe(described)];
  }),
);

/** The document with one value for each list, and a fault for each list that contains no supported value. */
export function chooseMetadata(document: JsonObject): {
  readonly document: JsonObject;
  readonly faults: readonly FieldError[];
} {
  const chosen: Record<string, unknown> = { ...document };
  const faults: FieldError[] = [];
  for (const [path, choice] of Object.entries(metadataChoices)) {
    const offered = document[path];
    if (offered === undefined) continue;
    delete chosen[path];
    const list: readonly unknown[] = Array.isArray(offered) ? offered : [];
    const { member, ifAsked = false } = choice;
    const given = document[member];
    if (given === undefined && ifAsked) continue;
    const values = choice.values(document);
    if (values.some((each) => each === given)) {
      if (!list.includes(given)) faults.push({ path, message: `does not contain the value of ${member}` });
      continue;
    }
    const value = values.find((each) => list.includes(each));
    if (value === undefined) faults.push({ path, message: "has no value that this provider supports" });
    else chosen[member] = value;
  }
  return { document: chosen, faults };
}
