import type { ReadsBegun } from "@edge-op/shared/control/settle";
import { Form } from "@edge-op/shared/http/read-form";
import { findClient } from "../authorization/checks/find-client.ts";
import { readRequestAhead } from "../authorization/checks/read-request-ahead.ts";
import type { Purpose } from "../steps/flow.ts";
import type { FlowRequest } from "../steps/step.ts";

type AuthorizePurpose = Extract<Purpose, { kind: "authorize" }>;

/** A cold isolate reads ahead what the request of a flow names. */
export function readingAhead(at: FlowRequest, { parameters }: AuthorizePurpose): ReadsBegun {
  return readRequestAhead(at, new Form(new Map(parameters)));
}

/** The client of a flow and its request, as they are now. */
export async function readClient({ context, isolate }: FlowRequest, { parameters: values }: AuthorizePurpose) {
  const parameters = new Form(new Map(values));
  return { parameters, client: await findClient(context, isolate, parameters) };
}
