import type { ClientCertificate } from "@edge-op/protocol/mtls/client-certificate";
import type { AuthorizationDetails } from "@edge-op/protocol/oauth/authorization-details";
import type { GrantType, PresentationType, TokenType } from "@edge-op/protocol/oauth/registered-names";
import type { ProvenKey } from "@edge-op/shared/callers/read-proof";
import type { Client } from "@edge-op/shared/clients/client";
import type { Repeatable } from "@edge-op/shared/control/remembered-decisions";
import type { OpenDecision } from "@edge-op/shared/control/settle";
import type { FormReader } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { TokenEnv } from "@edge-op/workers/env";
import type { AcceptedAssertion } from "./external/external-assertion.ts";
import type { TokenIsolate } from "./isolate.ts";

/** A request of a client that has authenticated and may use the grant type. */
export interface ClientRequest {
  readonly context: RequestContext<TokenEnv>;
  readonly isolate: TokenIsolate;
  readonly client: Client;
  /** The key that the request has proven; its tokens are bound to it. */
  readonly proof: ProvenKey | undefined;
}

/** **A token request** with the parameters of its grant type. */
export interface GrantRequest<Parameter extends string = never> extends ClientRequest {
  readonly form: FormReader<Parameter>;
  /** The certificate of the request's connection, whether or not tokens are bound to it. */
  readonly certificate: ClientCertificate | undefined;
  /** The assertion by which the request names its client, if it has no client authentication. */
  readonly accepted?: AcceptedAssertion | undefined;
}

/** A token request after its decision. */
export interface IssueRequest extends ClientRequest, Pick<OpenDecision, "validate"> {
  /**
   * Commits, and spends the proof if nothing has spent it earlier: nothing refuses the request any more. To be called before anything is signed (R6).
   */
  commit(): Promise<CommittedRequest>;
}

/** A token request that is granted: only for it tokens are signed. */
export interface CommittedRequest extends ClientRequest {
  readonly isCommitted: true;
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

/** **A grant type of the token endpoint**: one module in `grants/` for each. `Due`: the tokens that are due, as plain data. */
export interface GrantModule<Parameter extends string = string, Due extends object = object> {
  readonly type: GrantType;
  /** The parameters it reads, beside `grant_type` and those of client authentication. Others are ignored (RFC 6749 §3.2). */
  readonly parameters: readonly Parameter[];
  /** Those of them that are codes or tokens of this provider: a cold isolate reads the records ahead that they name. */
  readonly credentials: readonly NoInfer<Parameter>[];
  /** Decides which tokens are due, or throws a refusal. Spends nothing. */
  decide(request: GrantRequest<Parameter>): Promise<Due & Repeatable>;
  /** Spends the presented credential, then signs the tokens that are due. */
  issue(request: IssueRequest, due: Due): Promise<TokenResponse>;
}

/** Fixes the types of a module: `decide` can read only the parameters that it names, and `issue` gets what `decide` returned. */
export function defineGrantModule<const Parameter extends string, Due extends object>(
  module: GrantModule<Parameter, Due>,
): GrantModule {
  return module;
}
