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

/**
 * **Prevents responses of a superseded instance** (ADR 15). The platform detects a superseded instance when it writes; an instance that only reads
 * may respond with outdated state. `pass` writes, and the platform holds all output of the instance until the write is durable, so the response of a
 * superseded instance becomes an error. Call it in the turn of the read that the response, or the next call, depends on. A method that writes anyway
 * does not need it. Cost: one durable write.
 *
 *   fence(passes)   one row
 */
export class Fence {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS fence (id INTEGER PRIMARY KEY CHECK (id = 1), passes INTEGER NOT NULL);
      INSERT OR IGNORE INTO fence VALUES (1, 0);`);
  }

  pass(): void {
    this.#sql.exec("UPDATE fence SET passes = passes + 1");
  }
}
