import { type ControlKind, ControlView } from "@edge-op/shared/cache/control-view";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { RevocationBindings, RevocationView } from "@edge-op/shared/revocation/revocation-view";
import { settle } from "@edge-op/shared/revocation/settle";

export interface NamedRecord {
  readonly kind: ControlKind;
  readonly id: string;
}

/**
 * **One isolate with a change log beside it**: real `settle`, real `ControlView`; the log is a list instead of D1, and a confirmation
 * is one that any shard would give, with the newest version.
 */
export class SettleWorld {
  readonly control = new ControlView();
  readonly log: NamedRecord[] = [];
  readonly context: RequestContext<RevocationBindings>;
  confirmations = 0;
  /** Mutants: an isolate that takes its version for confirmed, and caches that note nothing. */
  readonly #flaws: { readonly isAlwaysConfirmed?: boolean; readonly notesNothing?: boolean };

  constructor(flaws: { readonly isAlwaysConfirmed?: boolean; readonly notesNothing?: boolean } = {}) {
    this.#flaws = flaws;
    const rows = (after: number) =>
      this.log.map((change, index) => ({ ...change, version: index + 1 })).filter(({ version }) => version > after);
    const DB = { prepare: () => ({ bind: (after: number) => ({ all: async () => ({ results: rows(after) }) }) }) };
    this.context = {
      env: { DB },
      progress: { controlConfirmed: flaws.isAlwaysConfirmed === true },
    } as unknown as RequestContext<RevocationBindings>;
  }

  get newest(): number {
    return this.log.length;
  }

  /** An administrator's change; shards know it, this isolate does not yet. */
  change(record: NamedRecord): void {
    this.log.push(record);
  }

  /** The isolate acts on the newest version, as it does when another of its requests has asked a shard. */
  learn(): Promise<void> {
    return this.control.observe(this.context, this.newest);
  }

  /** What a cache finds: the record as of the version that the isolate knows; its value is the number of its last change. */
  read(record: NamedRecord): number {
    if (this.#flaws.notesNothing !== true) this.context.progress.reads?.note(record.kind, record.id);
    return this.valueAt(record, this.control.version ?? 0);
  }

  valueAt({ kind, id }: NamedRecord, version: number): number {
    return this.log.slice(0, version).findLastIndex((change) => change.kind === kind && change.id === id) + 1;
  }

  settle<T>(decide: (confirm: () => Promise<void>) => Promise<T>): Promise<T> {
    const { progress } = this.context;
    const revocation: Pick<RevocationView, "isControlConfirmed" | "confirmControl"> = {
      isControlConfirmed: () => progress.controlConfirmed,
      confirmControl: async () => {
        if (progress.controlConfirmed) return;
        this.confirmations += 1;
        await this.learn();
        progress.controlConfirmed = true;
      },
    };
    return settle(this.context, { control: this.control, revocation: revocation as RevocationView }, decide);
  }
}
