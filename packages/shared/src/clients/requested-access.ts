import type { Schema, Validator } from "@cfworker/json-schema";
import { type AuthorizationDetails, parseAuthorizationDetails } from "@edge-op/protocol/oauth/authorization-details";
import { OAuthError, shownValue } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { intersectScope, isAdminScope } from "@edge-op/protocol/oauth/scope";
import type { AuthorizationTypes } from "../config/setting-values.ts";
import type { Settings } from "../config/settings.ts";
import { onFirstUse } from "../runtime/on-first-use.ts";
import type { Client } from "./client.ts";

/**
 * **The values of a requested scope that a client may have.** A value beyond them is refused, so that a client does not mistake the scope of its
 * token; for a client that no administrator registered, it is left out, because such clients ask every provider for the same (ADR 47). An admin scope
 * is never left out, and something must remain. The response states the scope.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-3.3
 */
export function requestedScope(
  { origin }: Pick<Client, "origin">,
  asked: readonly string[],
  allowed: readonly string[],
  reason: "scope-not-registered" | "scope-not-allowed" = "scope-not-registered",
): string[] {
  requireAdminScope(asked, allowed);
  const scope = intersectScope(asked, allowed);
  const beyond = asked.find((value) => !allowed.includes(value));
  if (beyond === undefined || (origin !== undefined && scope.length > 0)) return scope;
  throw refusal(beyond, reason);
}

/** Refuses an admin scope that the client may not have. */
export function requireAdminScope(asked: readonly string[], allowed: readonly string[]): void {
  const beyond = asked.find((value) => isAdminScope(value) && !allowed.includes(value));
  if (beyond !== undefined) throw refusal(beyond, "scope-not-registered");
}

function refusal(value: string, reason: "scope-not-registered" | "scope-not-allowed"): OAuthError {
  const verb = reason === "scope-not-allowed" ? "may not request" : "is not registered for";
  return new OAuthError("invalid_scope", reason, { description: `The client ${verb} the scope ${shownValue(value)}.` });
}

const schemas = onFirstUse(() => import("@cfworker/json-schema"));

/** By the types of the deployment: one object, created once. */
const validators = new WeakMap<AuthorizationTypes, Map<string, Validator>>();

/**
 * **Checks the `authorization_details` of a request**: each object must have a type that the deployment knows and the client registered, and be valid
 * by the type's schema. Returns `undefined` if the parameter is absent. The validator interprets the schema, because Workers forbid `eval`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9396#section-5
 */
export async function requestedDetails(
  { authorizationTypes }: Settings,
  { metadata }: Pick<Client, "metadata">,
  text: string | undefined,
): Promise<AuthorizationDetails | undefined> {
  const details = parseAuthorizationDetails(text);
  for (const [index, detail] of details?.entries() ?? []) {
    const { type } = detail;
    if (!Object.hasOwn(authorizationTypes, type))
      throw detailsRefusal("details-type-unknown", index, "is of an unknown type");
    if (!metadata.authorization_details_types?.includes(type)) {
      throw detailsRefusal("details-type-not-registered", index, "is of a type that the client is not registered for");
    }
    const { valid, errors } = (await validatorOf(authorizationTypes, type)).validate(detail);
    const [first] = errors;
    if (!valid)
      throw detailsRefusal(
        "details-schema",
        index,
        `does not match the schema of its type${first ? ` at ${first.instanceLocation}` : ""}`,
      );
  }
  return details;
}

async function validatorOf(types: AuthorizationTypes, type: string): Promise<Validator> {
  const known = validators.get(types) ?? new Map<string, Validator>();
  validators.set(types, known);
  const validator =
    known.get(type) ?? new (await schemas()).Validator((types[type]?.schema ?? {}) as Schema, "2020-12");
  known.set(type, validator);
  return validator;
}

function detailsRefusal(reason: RefusalReason, index: number, fault: string): OAuthError {
  return new OAuthError("invalid_authorization_details", reason, {
    detail: `authorization_details[${index}] ${fault}`,
    description: `authorization_details[${index}] ${fault}.`,
  });
}
