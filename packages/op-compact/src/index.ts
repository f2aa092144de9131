import { createTokenValidation } from "@edge-op/op-management/introspection/token-validation";
import { createIsolate } from "./isolate.ts";
import { createWorker } from "./worker.ts";

/** Exports op-state's object classes: a binding without a script name refers to these. */
export * from "@edge-op/op-state/index";

const isolate = createIsolate();

export default createWorker(isolate);

/** The entrypoint that resource servers bind. */
export const TokenValidation = createTokenValidation(isolate);
