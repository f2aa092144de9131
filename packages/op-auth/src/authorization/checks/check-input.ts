import type { Client } from "@edge-op/shared/clients/client";
import type { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../../auth-env.ts";
import type { AuthIsolate } from "../../isolate.ts";

/** **The input of a check.** Each check is one rule: it returns the part of the request that it has checked, or refuses. */
export interface CheckInput {
  readonly context: RequestContext<AuthEnv>;
  readonly isolate: AuthIsolate;
  readonly client: Client;
  readonly parameters: Form;
}
