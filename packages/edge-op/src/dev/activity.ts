import { explainReason } from "@edge-op/protocol/oauth/explain-reason";
import { isRefusalReason, refusalReasons } from "@edge-op/protocol/oauth/refusal-reasons";
import type { LogLine } from "../runtime-process.ts";

/** A request, from its log line. */
export interface SeenRequest {
  readonly at: Date;
  readonly requestId: string;
  readonly method: string;
  readonly endpoint: string;
  readonly status: number;
  readonly code: string;
  readonly client: string;
}

/** A refusal, explained. */
export interface SeenRefusal {
  readonly at: Date;
  readonly requestId: string;
  readonly code: string;
  readonly reason: string;
  readonly client: string;
  /** The meaning of the reason, in Markdown. */
  readonly cause: string;
  /** Details of the request; empty if there are none. */
  readonly detail: string;
  /** In Markdown; empty if the cause says it. */
  readonly mend: string;
}

const kept = 100;
type Fields = Readonly<Record<string, unknown>>;

/** **The newest requests and refusals of a run**, read from its log. */
export class Activity {
  #requests: SeenRequest[] = [];
  #refusals: SeenRefusal[] = [];
  readonly #waiting = new Set<() => void>();

  get requests(): readonly SeenRequest[] {
    return this.#requests;
  }

  get refusals(): readonly SeenRefusal[] {
    return this.#refusals;
  }

  read({ message }: LogLine): void {
    const fields = fieldsOf(message);
    if (typeof fields["requestId"] !== "string") return;
    if (fields["event"] === "request") this.#requests = [describeRequest(fields), ...this.#requests].slice(0, kept);
    if (fields["event"] === "refused") this.#refusals = [describeRefusal(fields), ...this.#refusals].slice(0, kept);
    for (const notify of this.#waiting) notify();
  }

  /** Forgets what happened while the demo was registered. */
  clear(): void {
    this.#requests = [];
    this.#refusals = [];
  }

  /** The refusal of a request: its log line may arrive later than its response, but before that of the request itself. */
  async find(requestId: string): Promise<SeenRefusal | undefined> {
    const find = () => this.#refusals.find((refusal) => refusal.requestId === requestId);
    const isOver = () => this.#requests.some((request) => request.requestId === requestId);
    const endAtMs = performance.now() + 1000;
    while (find() === undefined && !isOver() && performance.now() < endAtMs)
      await this.#nextLine(endAtMs - performance.now());
    return find();
  }

  async #nextLine(timeoutMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeoutMs);
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }
}

function fieldsOf(message: string): Fields {
  if (!message.startsWith("{")) return {};
  try {
    return JSON.parse(message) as Fields;
  } catch {
    return {};
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function describeRequest(fields: Fields): SeenRequest {
  return {
    at: new Date(),
    requestId: textOf(fields["requestId"]),
    method: textOf(fields["method"]),
    endpoint: textOf(fields["endpoint"]),
    status: Number(fields["status"]),
    code: textOf(fields["code"]),
    client: textOf(fields["clientId"]),
  };
}

function describeRefusal(fields: Fields): SeenRefusal {
  const [reason, detail] = [textOf(fields["reason"]), textOf(fields["detail"])];
  const known = isRefusalReason(reason) ? reason : undefined;
  const cause = known === undefined ? "" : refusalReasons[known];
  return {
    at: new Date(),
    requestId: textOf(fields["requestId"]),
    code: textOf(fields["code"]),
    reason,
    client: textOf(fields["clientId"] ?? fields["claimedClientId"]),
    cause,
    detail: detail === cause ? "" : detail,
    mend: known === undefined ? "" : explainReason(known).remedy,
  };
}
