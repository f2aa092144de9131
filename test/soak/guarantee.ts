export interface Observation {
  readonly subject: number;
  readonly isolate: string;
  /** When its headers were sent; a slow body is sent later. */
  readonly startedAtMs: number;
  /** When the last byte of the request was sent: the guarantee counts from here. */
  readonly invokedAtMs: number;
  readonly respondedAtMs: number;
  /** 0 if the connection broke. */
  readonly status: number;
  /** `undefined` if the response decides nothing. */
  readonly accepted: boolean | undefined;
  /** The request id of an error, as in its log line. */
  readonly requestId?: string | undefined;
  /** The store that did not respond and the reason, from the log line of a 503. */
  readonly cause?: string;
}

const verdicts = [
  "accepted",
  "refused",
  "either",
  "excused",
  "runtime-failed",
  "ended-but-accepted",
  "live-but-refused",
  "unexcused",
] as const;
export type Verdict = (typeof verdicts)[number];

/** Violations of the guarantee. */
const violations: readonly Verdict[] = ["ended-but-accepted", "live-but-refused", "unexcused"];

export function isViolation(verdict: Verdict): boolean {
  return violations.includes(verdict);
}

/** Counts by phase, then by kind of check, then by verdict. */
export type Tally = Readonly<Record<string, Readonly<Record<string, Readonly<Partial<Record<Verdict, number>>>>>>>;

/** The objects that a subject depends on, by name (`revocation:g2:wnam:3`), or all of them. */
export type Scopes = readonly string[] | "everything";

interface Life {
  readonly kind: string;
  readonly scopes: Scopes;
  endingAtMs: number;
  endedAtMs: number;
}

/** An object by name, an isolate by name, or everything. */
export type FaultScope = string | { readonly isolate: string } | undefined;

interface Fault {
  readonly scope: FaultScope;
  readonly fromMs: number;
  untilMs: number;
}

/** After a fault ends, an object may still be waiting out its predecessor's leases. */
const recoveryMs = 5_000;

/**
 * **Compares the results of a subject's checks with the time when the subject ended.** A subject is anything that is valid until an operation ends
 * it: an access token until its revocation, a secret until its rotation, a refresh family until its theft. All times are milliseconds of one
 * machine's clock. The guarantee: a check whose request was complete after the operation returned is refused; one whose response arrived before the
 * operation was sent is accepted; in between, either is correct. An undecided response (503, a broken connection) is excused only by a fault of
 * something that the subject depends on. Failures of the local runtime, whose own databases are files, count separately: `SQLITE_BUSY` does not exist
 * in a deployment.
 */
export class Guarantee {
  readonly #lives: Life[] = [];
  readonly #faults: Fault[] = [];
  readonly #busyAtMs: number[] = [];
  readonly #phases: { readonly name: string; readonly fromMs: number }[] = [];
  readonly tally: Record<string, Record<string, Partial<Record<Verdict, number>>>> = {};

  phaseBegins(name: string, atMs: number): void {
    this.#phases.push({ name, fromMs: atMs });
  }

  /** Registers a subject that is valid from now on; returns its number. `kind` names the check and the operation that will end it. */
  issued(kind: string, scopes: Scopes = []): number {
    return this.#lives.push({ kind, scopes, endingAtMs: Infinity, endedAtMs: Infinity }) - 1;
  }

  /** The operation that ends it is about to be sent. */
  ending(subject: number, atMs: number): void {
    const life = this.#lives[subject]!;
    life.endingAtMs = Math.min(life.endingAtMs, atMs);
  }

  /** The operation that ends it has returned successfully. */
  ended(subject: number, atMs: number): void {
    const life = this.#lives[subject]!;
    life.endedAtMs = Math.min(life.endedAtMs, atMs);
    life.endingAtMs = Math.min(life.endingAtMs, atMs);
  }

  /** A fault begins, of one object, of one isolate or (no scope) of everything; call the returned function when it has ended. */
  faultBegins(atMs: number, scope?: FaultScope): (endedAtMs: number) => void {
    const fault: Fault = { scope, fromMs: atMs, untilMs: Infinity };
    this.#faults.push(fault);
    return (endedAtMs) => {
      fault.untilMs = endedAtMs + recoveryMs;
    };
  }

  /** The runtime has logged that a database of its own is locked. */
  runtimeIsBusy(atMs: number): void {
    this.#busyAtMs.push(atMs);
  }

  kindOf(subject: number): string {
    return this.#lives[subject]!.kind;
  }

  judge(observation: Observation): Verdict {
    const verdict = this.#decide(observation);
    const phase = this.#phases.findLast(({ fromMs }) => fromMs <= observation.invokedAtMs)?.name ?? "";
    const slow = observation.invokedAtMs - observation.startedAtMs >= slowBodyMs ? ", slow body" : "";
    const kind = this.kindOf(observation.subject) + slow;
    const kinds = this.tally[phase] ?? {};
    const counts = kinds[kind] ?? {};
    this.tally[phase] = { ...kinds, [kind]: { ...counts, [verdict]: (counts[verdict] ?? 0) + 1 } };
    return verdict;
  }

  #decide(observation: Observation): Verdict {
    const { subject, isolate, startedAtMs, invokedAtMs, respondedAtMs, status, accepted } = observation;
    const { endingAtMs, endedAtMs, scopes } = this.#lives[subject]!;
    if (accepted === undefined) {
      const isExcused = (status === 503 || status === 0) && this.#isFaulty(scopes, isolate, startedAtMs, respondedAtMs);
      if (isExcused) return "excused";
      return status === 503 && this.#isOfRuntime(observation) ? "runtime-failed" : "unexcused";
    }
    if (accepted && invokedAtMs > endedAtMs) return "ended-but-accepted";
    if (!accepted && respondedAtMs < endingAtMs) return "live-but-refused";
    if (invokedAtMs > endedAtMs) return "refused";
    return respondedAtMs < endingAtMs ? "accepted" : "either";
  }

  /** Whether it is the error itself, or a deadline that passed while the runtime could not use its database. */
  #isOfRuntime({ cause = "", startedAtMs, respondedAtMs }: Observation): boolean {
    if (busy.test(cause)) return true;
    return (
      /no (response|result) within|no shard responded/.test(cause) &&
      this.#busyAtMs.some((atMs) => startedAtMs <= atMs && atMs <= respondedAtMs)
    );
  }

  #isFaulty(scopes: Scopes, isolate: string, fromMs: number, untilMs: number): boolean {
    return this.#faults.some(
      (fault) =>
        fault.fromMs <= untilMs &&
        fromMs <= fault.untilMs &&
        (typeof fault.scope === "object"
          ? fault.scope.isolate === isolate
          : fault.scope === undefined || scopes === "everything" || scopes.includes(fault.scope)),
    );
  }
}

/** An error of the local runtime's databases. */
export const busy = /SQLITE_BUSY|database is locked/;

/** From this delay between headers and body on, the test caused it, not the machine. */
export const slowBodyMs = 400;

/** Every violation of a tally, by phase and kind. */
export function violationsOf(tally: Tally): string[] {
  return Object.entries(tally).flatMap(([phase, kinds]) =>
    Object.entries(kinds).flatMap(([kind, counts]) =>
      violations
        .filter((verdict) => counts[verdict] !== undefined)
        .map((verdict) => `${phase}: ${kind}: ${counts[verdict]} ${verdict}`),
    ),
  );
}

/** The tally as a table, with a line per phase and kind of check. */
export function formatTally(tally: Tally): string {
  const rows = Object.entries(tally).flatMap(([phase, kinds]) =>
    Object.entries(kinds)
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([kind, counts]) => [phase, kind, ...verdicts.map((verdict) => String(counts[verdict] ?? 0))]),
  );
  const table = [["phase", "check: what ends it", ...verdicts], ...rows];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  return table.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join("  ")).join("\n");
}
