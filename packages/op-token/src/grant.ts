import type { Client } from "@edge-op/shared/directory/client";
import type { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { TokenType } from "@edge-op/shared/oauth/token-types";
import type { TokenIsolate } from "./isolate.ts";
import type { TokenEnv } from "./token-env.ts";

/** **What a grant is given**: an authenticated client that may use it, and the request's parameters. */
export interface GrantRequest {
  readonly context: RequestContext<TokenEnv>;
  readonly isolate: TokenIsolate;
  readonly client: Client;
  readonly form: Form;
  /** To be called after every check and before anything is spent or signed: verify → spend → sign (R6). */
  confirm(): Promise<void>;
}

/** @see https://www.rfc-editor.org/rfc/rfc6749#section-5.1 */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: "Bearer" | "N_A";
  /** Seconds. */
  readonly expires_in: number;
  readonly scope?: string;
  readonly refresh_token?: string;
  readonly id_token?: string;
  /** Token exchange only (RFC 8693 §2.2.1). */
  readonly issued_token_type?: TokenType;
}

/** A grant decides whether tokens are due and issues them, or throws a refusal. */
export type Grant = (request: GrantRequest) => Promise<TokenResponse>;
