import { limits } from "@edge-op/shared/config/limits";
import { readSettings, type SettingsVariables } from "@edge-op/shared/config/settings";
import type { LeaseRequest, LeaseResponse, RevocationShard } from "@edge-op/shared/leases/revocation-shard-rpc";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { log } from "@edge-op/shared/runtime/log";
import { callObject, shardStub } from "@edge-op/shared/storage/call-object";
import { GenerationTable, loadGenerations } from "@edge-op/shared/storage/generation-table";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { objectName } from "@edge-op/shared/storage/shard-address";
import type { RelayMachine, UpstreamConfirmation } from "./relay-machine.ts";

export type RelayBindings = SettingsVariables & {
  readonly DB: D1Database;
  readonly TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard>;
};

/** The delay after a failure: at first, and at most. Isolates call the shard meanwhile. */
const renewAgainMs = 100;
const longestPauseMs = 2_000;
/** How long no lease is requested from a shard that has too many rows, unless its response states the time. */
const checkOnlyMs = 10_000;
/** The first round is announced to isolates once: when every shard has responded, or after this time. */
const firstRoundMs = 500;

/**
 * **Keeps a relay's leases on all live shards while isolates use it**: one held renewal per shard. When no isolate has a lease or waits for one, it
 * releases all of them. The shards are those of the generation table, which is read at the beginning, and again when a change of it arrives with a
 * lease. Cost: four calls per lease length and shard, and one more for each change that is confirmed.
 */
export class UpstreamLeases {
  readonly #machine: RelayMachine;
  readonly #env: RelayBindings;
  readonly #isUsed: (atMs: number) => boolean;
  /** Called after an installation; `isNews`: there is something to send to isolates. */
  readonly #installed: (isNews: boolean) => void;
  #table: GenerationTable | undefined;
  /** Number of the present run; the loops of an older one end. */
  #run = 0;
  #isRunning = false;
  #isFirstRound = false;

  constructor(
    machine: RelayMachine,
    env: RelayBindings,
    isUsed: (atMs: number) => boolean,
    installed: (isNews: boolean) => void,
  ) {
    this.#machine = machine;
    this.#env = env;
    this.#isUsed = isUsed;
    this.#installed = installed;
  }

  /** Starts unless it is running already. */
  keep(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#run += 1;
    void this.#begin(this.#run);
  }

  async confirm({ shard, holder, seq }: UpstreamConfirmation): Promise<void> {
    try {
      await callObject("revocation", async () => await this.#stub(shard)?.confirm(holder, seq));
    } catch (cause) {
      // The next renewal confirms it.
      log("relay-confirmation-lost", { shard, cause: String(cause) });
    }
  }

  async #begin(run: number): Promise<void> {
    this.#isFirstRound = true;
    if (!(await this.#readTable())) {
      await scheduler.wait(renewAgainMs);
      this.#isRunning = false;
      return;
    }
    const firstRound = this.#machine.shardNames.map((name) => this.#startRenewing(name, run));
    await Promise.race([Promise.all(firstRound), scheduler.wait(firstRoundMs)]);
    this.#isFirstRound = false;
    this.#installed(true);
  }

  /** Resolves when the shard has responded for the first time, or failed. */
  #startRenewing(name: string, run: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    void this.#renewWhileUsed(name, run, resolve);
    return promise;
  }

  async #renewWhileUsed(name: string, run: number, responded: () => void): Promise<void> {
    let pauseMs = renewAgainMs;
    while (this.#run === run) {
      if (!this.#isUsed(nowMs())) {
        this.#end();
        return;
      }
      const { leaseMs } = readSettings(this.#env);
      const request = this.#machine.request(name, leaseMs);
      // The generation has been retired.
      if (request === undefined) return;
      try {
        const againMs = await this.#renew(name, request);
        pauseMs = renewAgainMs;
        if (!this.#machine.isCovered(name, nowMs())) {
          responded();
          await scheduler.wait(againMs ?? checkOnlyMs);
        }
      } catch (cause) {
        log("relay-lease-not-renewed", { shard: name, cause: String(cause) });
        responded();
        await scheduler.wait(pauseMs);
        pauseMs = Math.min(2 * pauseMs, longestPauseMs);
      }
      responded();
    }
  }

  /** Returns when the shard is to be called again, if it gave no lease. */
  async #renew(name: string, request: LeaseRequest): Promise<number | undefined> {
    const stub = this.#stub(name);
    if (stub === undefined) return undefined;
    const sentAtMs = nowMs();
    // A renewal is held for `heldShare.upstream` of its lease; one that takes much longer is lost.
    const timeoutMs = request.leaseMs + limits.relayUpstreamMs;
    const call = async (): Promise<LeaseResponse> => await stub.lease(request);
    const response = await callObject("revocation", call, timeoutMs);
    const knownCv = this.#machine.cv;
    const isNews = this.#machine.install(name, response, request, sentAtMs);
    this.#installed(isNews && !this.#isFirstRound);
    const { changes } = response;
    const mayHaveChanged = changes === undefined || changes.some(({ kind }) => kind === "generations");
    if (response.cv > knownCv && knownCv >= 0 && mayHaveChanged) void this.#followTable();
    return response.kind === "checkOnly" ? response.againMs : undefined;
  }

  async #followTable(): Promise<void> {
    const run = this.#run;
    const known = new Set(this.#machine.shardNames);
    while (this.#run === run && !(await this.#readTable())) await scheduler.wait(longestPauseMs);
    if (this.#run !== run) return;
    for (const name of this.#machine.shardNames) if (!known.has(name)) void this.#startRenewing(name, run);
  }

  /** False if D1 cannot be read. */
  async #readTable(): Promise<boolean> {
    try {
      const generations = await queryDatabase(() => loadGenerations(this.#env.DB));
      if (generations === undefined) return false;
      this.#table = new GenerationTable(generations);
      this.#machine.setShards(this.#table.live("revocation").map((address) => objectName("revocation", address)));
      return true;
    } catch (cause) {
      log("relay-lease-not-renewed", { shard: "generation table", cause: String(cause) });
      return false;
    }
  }

  #end(): void {
    this.#run += 1;
    this.#isRunning = false;
    for (const { shard, holder } of this.#machine.lapse()) void this.#release(shard, holder);
  }

  async #release(shard: string, holder: string): Promise<void> {
    try {
      await callObject("revocation", async () => await this.#stub(shard)?.release(holder));
    } catch (cause) {
      log("lease-not-released", { shard, cause: String(cause) });
    }
  }

  #stub(name: string): DurableObjectStub<RevocationShard> | undefined {
    const address = this.#table?.live("revocation").find((at) => objectName("revocation", at) === name);
    if (address === undefined) return undefined;
    const { TOKEN_REVOCATION_STORE } = this.#env;
    const region = this.#table?.find("revocation", address);
    return shardStub(readSettings(this.#env), TOKEN_REVOCATION_STORE, "revocation", address, region);
  }
}
