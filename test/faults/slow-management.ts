import worker from "../../packages/op-management/src/index.ts";
import { withSlowStores } from "./slow-stores.ts";

/** **op-management with stores that are slow on demand.** */
export default withSlowStores(worker);
