import type { DeploymentFacts } from "../secrets/deployment-facts.ts";

export interface ObjectFacts extends DeploymentFacts {
  /** The size of its storage. */
  readonly bytes: number;
}

/** **The RPC method of every object**: reports the version that it runs, which differs between objects while an update is deferred (ADR 34). */
export interface FactsRpc extends Rpc.DurableObjectBranded {
  deploymentFacts(): Promise<ObjectFacts>;
}
