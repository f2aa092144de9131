import { createIsolate } from "./isolate.ts";
import { createTokenValidation } from "./validation/token-validation.ts";
import { createWorker } from "./worker.ts";

const isolate = createIsolate();

export default createWorker(isolate);

/** The entrypoint that resource servers bind. */
export const TokenValidation = createTokenValidation(isolate);
