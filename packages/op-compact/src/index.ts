import { createWorker } from "./worker.ts";

/** The object classes of op-state: a binding without a script name is to these. */
export * from "@edge-op/op-state/index";

export default createWorker();
