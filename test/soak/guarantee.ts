/**
 * **Judges introspections against what was revoked when.** All times are milliseconds of one machine's clock. The guarantee:
 * an introspection invoked after a revoke returned never answers active; one answered before a revoke was sent never
 * answers inactive; nothing but 200 and, while a fault lasts, 503. In between either answer is right.
 */
export interface Observation {
  readonly token: number;
  readonly isolate: string;
  readonly invokedAtMs: number;
  readonly answeredAtMs: number;
  /** 0 when no answer came: the connection broke. */
  readonly status: number;
  readonly active: boolean | undefined;
}

export type Verdict = "right" | "unavailable" | "revoked-but-active" | "valid-but-inactive" | "no-answer-without-fault";

interface TokenLife {
  revokeSentAtMs: number;
  revokeReturnedAtMs: number;
}

interface Fault {
  readonly fromMs: number;
  untilMs: number;
}

/** After a fault ends, an object may still be waiting out its predecessor's leases. */
const recoveryMs = 5_000;

export class Guarantee {
  readonly #tokens: TokenLife[] = [];
  readonly #faults: Fault[] = [];
  readonly counts: Record<Verdict, number> = {
    right: 0,
    unavailable: 0,
    "revoked-but-active": 0,
    "valid-but-inactive": 0,
    "no-answer-without-fault": 0,
  };

  /** A token that was just issued; its number. */
  issued(): number {
    return this.#tokens.push({ revokeSentAtMs: Infinity, revokeReturnedAtMs: Infinity }) - 1;
  }

  isLive(token: number): boolean {
    return this.#tokens[token]?.revokeSentAtMs === Infinity;
  }

  revokeSent(token: number, atMs: number): void {
    const life = this.#tokens[token]!;
    life.revokeSentAtMs = Math.min(life.revokeSentAtMs, atMs);
  }

  revokeReturned(token: number, atMs: number): void {
    const life = this.#tokens[token]!;
    life.revokeReturnedAtMs = Math.min(life.revokeReturnedAtMs, atMs);
  }

  /** A fault begins; call the returned function when it has ended. */
  faultBegins(atMs: number): (endedAtMs: number) => void {
    const fault: Fault = { fromMs: atMs, untilMs: Infinity };
    this.#faults.push(fault);
    return (endedAtMs) => {
      fault.untilMs = endedAtMs + recoveryMs;
    };
  }

  judge(observation: Observation): Verdict {
    const verdict = this.#decide(observation);
    this.counts[verdict] += 1;
    return verdict;
  }

  #decide({ token, invokedAtMs, answeredAtMs, status, active }: Observation): Verdict {
    if (status !== 200 || active === undefined) {
      const excused = (status === 503 || status === 0) && this.#duringFault(invokedAtMs, answeredAtMs);
      return excused ? "unavailable" : "no-answer-without-fault";
    }
    const life = this.#tokens[token]!;
    if (active && invokedAtMs > life.revokeReturnedAtMs) return "revoked-but-active";
    if (!active && answeredAtMs < life.revokeSentAtMs) return "valid-but-inactive";
    return "right";
  }

  #duringFault(fromMs: number, untilMs: number): boolean {
    return this.#faults.some((fault) => fault.fromMs <= untilMs && fromMs <= fault.untilMs);
  }
}

/** What must be zero. */
export function violations(counts: Readonly<Record<Verdict, number>>): number {
  return counts["revoked-but-active"] + counts["valid-but-inactive"] + counts["no-answer-without-fault"];
}
