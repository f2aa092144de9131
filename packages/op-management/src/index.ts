import { createTokenValidation } from "./introspection/token-validation.ts";
import { createIsolate } from "./isolate.ts";
import { createWorker } from "./worker.ts";

const isolate = createIsolate();

export default createWorker(isolate);

/** The entrypoint that resource servers bind. */
export const TokenValidation = createTokenValidation(isolate);
