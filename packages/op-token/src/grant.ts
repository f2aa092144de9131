import type { ClientCertificate } from "@edge-op/protocol/mtls/client-certificate";
import type { AuthorizationDetails } from "@edge-op/protocol/oauth/authorization-details";
import type { GrantType } from "@edge-op/protocol/oauth/grant-types";
import type { PresentationType, TokenType } from "@edge-op/protocol/oauth/token-types";
import type { ProvenKey } from "@edge-op/shared/callers/require-proof";
import type { Client } from "@edge-op/shared/clients/client";
import type { FormReader } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { TokenEnv } from "@edge-op/workers/env";
import type { AcceptedAssertion } from "./external/external-assertion.ts";
import type { TokenIsolate } from "./isolate.ts";

/** **A token request**: an authenticated client that may use the grant, and the grant's parameters. */
export interface GrantRequest<Parameter extends string = never> {
  readonly context: RequestContext<TokenEnv>;
  readonly isolate: TokenIsolate;
  readonly client: Client;
  readonly form: FormReader<Parameter>;
  /** The key that the request has proven; its tokens are bound to it. */
  readonly proof: ProvenKey | undefined;
  /** The certificate of the request's connection, whether or not tokens are bound to it. */
  readonly certificate: ClientCertificate | undefined;
  /** The assertion by which the request names its client, if it has no client authentication. */
  readonly accepted?: AcceptedAssertion | undefined;
  /** To be called after every check and before anything is spent or signed (R6). */
  confirm(): Promise<void>;
}

/** @see https://www.rfc-editor.org/rfc/rfc6749#section-5.1 */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: PresentationType;
  /** Lifetime in seconds. */
  readonly expires_in: number;
  readonly scope?: string;
  /** `authorization_details` (RFC 9396 §7). */
  readonly authorization_details?: AuthorizationDetails;
  readonly refresh_token?: string;
  readonly id_token?: string;
  /** Token exchange only (RFC 8693 §2.2.1). */
  readonly issued_token_type?: TokenType;
}

/** **A grant of the token endpoint**, a module each in `grants/`. */
export interface Grant<Parameter extends string = string, Plan extends object = object> {
  readonly type: GrantType;
  /** The parameters it reads, beside `grant_type` and those of client authentication. Others are ignored (RFC 6749 §3.2). */
  readonly parameters: readonly Parameter[];
  /** Decides whether tokens are due and issues them, or throws a refusal. */
  issue(request: GrantRequest<Parameter>, remember: Remember<Plan>): Promise<TokenResponse>;
  /** Issues tokens to a request that equals the one that `plan` was remembered of, by the same records. */
  issueAgain?(request: RepeatedRequest, plan: Plan): Promise<TokenResponse>;
}

/**
 * A request that equals an earlier one at the same control version (control/remembered-decisions.ts). It is of a client that authenticates by
 * a secret, without a proof.
 */
export type RepeatedRequest = Pick<GrantRequest, "context" | "isolate" | "client" | "proof" | "confirm">;

/**
 * Offers what was decided by records and the request alone, before it is carried out. `endsAtMs`: when a token that was presented ends.
 * Plain data.
 */
export type Remember<Plan> = (plan: Plan, endsAtMs: number) => void;

/** Settles the type of a grant: its `issue` can read only the parameters that it names. */
export function defineGrant<const Parameter extends string, Plan extends object>(grant: Grant<Parameter, Plan>): Grant {
  return grant;
}
