import { DurableObject } from "cloudflare:workers";
import type { FactsRpc } from "@edge-op/shared/objects/facts-object";
import {
  type DeploymentFacts,
  type FactsBindings,
  readDeploymentFacts,
} from "@edge-op/shared/secrets/deployment-facts";

/** **The base of every object**: reports the code and the secrets that this instance runs, which reads and writes no storage. */
export abstract class FactsObject<Env extends object>
  extends DurableObject<Env & FactsBindings>
  implements Omit<FactsRpc, keyof Rpc.DurableObjectBranded>
{
  deploymentFacts(): Promise<DeploymentFacts> {
    return readDeploymentFacts(this.env);
  }
}
