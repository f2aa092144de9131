import { type Schema, Validator } from "@cfworker/json-schema";
import { type AuthorizationDetails, parseAuthorizationDetails } from "@edge-op/protocol/oauth/authorization-details";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import type { AuthorizationTypes } from "../config/authorization-types.ts";
import type { Settings } from "../config/settings.ts";
import type { Client } from "./client.ts";

/** By the types of the deployment: one object, created once. */
const validators = new WeakMap<AuthorizationTypes, Map<string, Validator>>();

/**
 * **Checks the `authorization_details` of a request**: each object must have a type that the deployment knows and the client registered, and be valid
 * by the type's schema. Returns `undefined` if the parameter is absent. The validator interprets the schema, because Workers forbid `eval`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9396#section-5
 */
export function requestedDetails(
  { authorizationTypes }: Settings,
  { metadata }: Pick<Client, "metadata">,
  text: string | undefined,
): AuthorizationDetails | undefined {
  const details = parseAuthorizationDetails(text);
  for (const [index, detail] of details?.entries() ?? []) {
    const { type } = detail;
    if (!Object.hasOwn(authorizationTypes, type)) throw refusal("details-type-unknown", index, "is of an unknown type");
    if (!metadata.authorization_details_types?.includes(type)) {
      throw refusal("details-type-not-registered", index, "is of a type that the client is not registered for");
    }
    const { valid, errors } = validatorOf(authorizationTypes, type).validate(detail);
    const [first] = errors;
    if (!valid)
      throw refusal(
        "details-schema",
        index,
        `does not match the schema of its type${first ? ` at ${first.instanceLocation}` : ""}`,
      );
  }
  return details;
}

function validatorOf(types: AuthorizationTypes, type: string): Validator {
  const known = validators.get(types) ?? new Map<string, Validator>();
  validators.set(types, known);
  const validator = known.get(type) ?? new Validator((types[type]?.schema ?? {}) as Schema, "2020-12");
  known.set(type, validator);
  return validator;
}

function refusal(reason: RefusalReason, index: number, fault: string): OAuthError {
  return new OAuthError("invalid_authorization_details", reason, {
    detail: `authorization_details[${index}] ${fault}`,
    description: `authorization_details[${index}] ${fault}.`,
  });
}
