import { OAuthError, type OAuthErrorCode } from "@edge-op/protocol/oauth/errors";

export type ScimType =
  | "invalidFilter"
  | "invalidPath"
  | "invalidSyntax"
  | "invalidValue"
  | "mutability"
  | "noTarget"
  | "tooMany"
  | "uniqueness";

const codes: Readonly<Record<number, OAuthErrorCode>> = {
  400: "invalid_request",
  401: "invalid_token",
  404: "not_found",
  409: "conflict",
  412: "precondition_failed",
  501: "invalid_request",
};

/**
 * **A refusal in the words of RFC 7644 §3.12.** The description names attributes and forms, never values: it is in the response and in the list of
 * refusals.
 */
export class ScimError extends OAuthError {
  readonly scimType: ScimType | undefined;

  constructor(status: 400 | 401 | 404 | 409 | 412 | 501, description: string, scimType?: ScimType) {
    super(codes[status]!, status === 401 ? "scim-token" : "scim-request", {
      status,
      description,
      ...(scimType !== undefined && { detail: `${scimType}: ${description}` }),
      ...(status === 401 && { headers: { "WWW-Authenticate": "Bearer" } }),
    });
    this.scimType = scimType;
  }
}

/** One text for an unknown token, one that has ended, and one of another organisation. */
export const tokenRefused = () => new ScimError(401, "The token is invalid.");

export const resourceMissing = () => new ScimError(404, "There is no such resource.");

/** The body of an error. */
export function errorBody(status: number, detail: string, scimType?: ScimType) {
  return { schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"], status: String(status), scimType, detail };
}
