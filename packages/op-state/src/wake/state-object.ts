import { DurableObject } from "cloudflare:workers";
import {
  type FactsBindings,
  type FactsRpc,
  type ObjectFacts,
  readDeploymentFacts,
} from "@edge-op/shared/secrets/deployment-facts";

/**
 * **The base of every object**: reports the code and the secrets that this instance runs, and the size of its storage. It reads and writes no row.
 */
export abstract class FactsObject<Env extends object>
  extends DurableObject<Env & FactsBindings>
  implements Omit<FactsRpc, keyof Rpc.DurableObjectBranded>
{
  async deploymentFacts(): Promise<ObjectFacts> {
    return { ...(await readDeploymentFacts(this.env)), bytes: this.ctx.storage.sql.databaseSize };
  }
}
