import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { IsolateProcess } from "../../packages/edge-op/src/isolate-process.ts";
import type { LocalProvider } from "../../packages/edge-op/src/local-provider.ts";
import { type ApiResponse, postForm } from "../../packages/edge-op/src/provider-api.ts";
import type { LogLine } from "../../packages/edge-op/src/runtime-process.ts";
import type { Person } from "../../packages/edge-op/testing/person.ts";
import { Application } from "../conformance/fixtures/application.ts";
import { api, type KeyedClient, ProviderFixtures, type TestClient } from "../conformance/fixtures/provider-fixtures.ts";
import { registerPerson } from "../conformance/fixtures/register-person.ts";
import type { Check, ClientSettings, ToClient } from "./checking-client.ts";
import { busy, Guarantee, isViolation, type Observation, type Scopes } from "./guarantee.ts";

/** The name of the isolate in a separate process. */
export const isolateName = "process";

/** **The parts that the operations of a soak act on**: the provider, its clients and people, the checking processes, and the judge. */
export class Stage {
  readonly provider: LocalProvider;
  /** The isolate in a separate process. */
  readonly isolate: IsolateProcess | undefined;
  readonly fixtures: ProviderFixtures;
  readonly guarantee = new Guarantee();
  readonly log: (line: string) => void;
  /** The client that introspects everything and holds the tokens that are revoked. */
  readonly service: TestClient;
  readonly asserter: KeyedClient;
  readonly application: Application;
  /** A signed-in browser, so that families need no password. */
  readonly browser: Person;
  /** The cause of each 503, by request id, and the responses whose log line has not arrived. */
  readonly #causes = new Map<string, string>();
  readonly #undecided = new Map<string, Observation>();
  readonly #always = new Map<string, number>();
  #clients: ChildProcess[] = [];

  private constructor(
    provider: LocalProvider,
    isolate: IsolateProcess | undefined,
    fixtures: ProviderFixtures,
    cast: Pick<Stage, "service" | "asserter" | "application" | "browser">,
    log: (line: string) => void,
  ) {
    this.provider = provider;
    this.isolate = isolate;
    this.fixtures = fixtures;
    this.service = cast.service;
    this.asserter = cast.asserter;
    this.application = cast.application;
    this.browser = cast.browser;
    this.log = log;
  }

  static async prepare(
    provider: LocalProvider,
    isolate: IsolateProcess | undefined,
    log: (line: string) => void,
  ): Promise<Stage> {
    const fixtures = new ProviderFixtures(provider);
    const application = await Application.register(fixtures, { skip_consent: true, audiences: [api] });
    const browser = (await registerPerson(fixtures)).browser();
    await application.signIn(browser);
    const service = await fixtures.client({ introspection: { clients: ["*"] } });
    const asserter = await fixtures.asserter();
    if (isolate !== undefined) await warmUp(isolate, service);
    return new Stage(provider, isolate, fixtures, { service, asserter, application, browser }, log);
  }

  startClients(count: number): void {
    const isolatesOf = (worker: string) => ({
      op: this.provider.origin,
      ...Object.fromEntries(Object.entries(this.provider.direct).filter(([name]) => name.startsWith(worker))),
      ...(this.isolate === undefined ? {} : { [isolateName]: this.isolate.origins[worker]! }),
    });
    const settings: ClientSettings = {
      isolates: {
        introspection: isolatesOf("op-management"),
        userinfo: isolatesOf("op-userinfo"),
        "client authentication": isolatesOf("op-token"),
      },
      authorization: this.service.authorization,
      connections: 3,
      slowConnections: 8,
    };
    const path = join(import.meta.dirname, "checking-client.ts");
    this.#clients = Array.from({ length: count }, () => {
      const client = fork(path, [JSON.stringify(settings)]);
      client.on("message", (seen) => {
        for (const observation of seen as Observation[]) this.judge(observation);
      });
      return client;
    });
  }

  async stopClients(): Promise<void> {
    const ended = this.#clients.map((client) => once(client, "exit"));
    this.#send({ kind: "stop" });
    await Promise.all(ended);
    for (const observation of this.#undecided.values()) this.#decide(observation);
  }

  /** Reads the cause of a 503 from a log line of a Worker or of the runtime. */
  noteLog({ message }: LogLine): void {
    if (busy.test(message)) {
      this.guarantee.runtimeIsBusy(Date.now());
      this.log(`of the local runtime: ${message}`);
    }
    const line = message.startsWith('{"event":"unavailable"') ? (JSON.parse(message) as UnavailableLine) : undefined;
    if (line?.requestId === undefined) return;
    const cause = `${line.store}: ${line.cause}`;
    this.#causes.set(line.requestId, cause);
    const waiting = this.#undecided.get(line.requestId);
    this.#undecided.delete(line.requestId);
    if (waiting !== undefined) this.#decide({ ...waiting, cause });
  }

  slowBodies(on: boolean): void {
    this.#send({ kind: "slow bodies", on });
  }

  /** Registers a valid subject, which every client process checks until it is forgotten. */
  check(check: Check, fate: string, scopes: Scopes): number {
    const group = `${check.kind}: ${fate}`;
    const number = this.guarantee.issued(group, scopes);
    this.#send({ kind: "subject", number, group, check });
    return number;
  }

  forget(subjects: readonly number[]): void {
    for (const number of subjects) this.#send({ kind: "forget", number });
  }

  /** Judges an observation; a 503 is judged when its log line names the cause. */
  judge(observation: Observation): void {
    const { status, requestId } = observation;
    const cause = requestId && this.#causes.get(requestId);
    if (cause !== undefined) this.#decide({ ...observation, cause });
    else if (status === 503 && requestId !== undefined) this.#undecided.set(requestId, observation);
    else this.#decide(observation);
  }

  #decide(observation: Observation): void {
    const verdict = this.guarantee.judge(observation);
    if (isViolation(verdict) || verdict === "runtime-failed")
      this.log(`${verdict}: ${this.guarantee.kindOf(observation.subject)} ${JSON.stringify(observation)}`);
  }

  /** A request that must succeed whenever there is no fault. Returns `undefined` if nothing was decided. */
  async attempt(kind: string, work: () => Promise<ApiResponse | undefined>): Promise<ApiResponse | undefined> {
    const subject = this.#always.get(kind) ?? this.guarantee.issued(kind, "everything");
    this.#always.set(kind, subject);
    const startedAtMs = Date.now();
    const response = await unlessBroken(work);
    const status = response?.status ?? 0;
    const accepted = status >= 200 && status < 300 ? true : status === 0 || status >= 500 ? undefined : false;
    const times = { startedAtMs, invokedAtMs: startedAtMs, respondedAtMs: Date.now() };
    const requestId = response?.headers.get("request-id") ?? undefined;
    this.judge({ subject, isolate: "op", ...times, status, accepted, requestId });
    if (accepted !== true) this.log(`${kind}: ${status} ${response?.text ?? ""}`);
    return accepted === true ? response : undefined;
  }

  /** The token response to a person's sign-in; `undefined` if it failed, which only a fault excuses. */
  signIn(person: Person, scope: string, application = this.application): Promise<ApiResponse | undefined> {
    return this.attempt("sign-in", async () => {
      try {
        return await application.redeem(await application.authorize(person, { scope }));
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        this.log(`sign-in: ${error.message}`);
        return undefined;
      }
    });
  }

  #send(message: ToClient): void {
    for (const client of this.#clients) if (client.connected) client.send(message);
  }
}

interface UnavailableLine {
  readonly store: string;
  readonly cause: string;
  readonly requestId?: string;
}

/** A process that has just started responds late on a busy machine, so its first requests are not judged. */
async function warmUp({ origins }: IsolateProcess, { authorization }: TestClient): Promise<void> {
  const paths = { "op-management": "/introspect", "op-userinfo": "/userinfo", "op-token": "/token" };
  for (const [worker, path] of Object.entries(paths)) {
    let status = 503;
    for (let tries = 0; status === 503 && tries < 10; tries += 1) {
      const response = await postForm(`${origins[worker]}${path}`, { token: "none" }, { authorization });
      ({ status } = response);
    }
  }
}

/** `undefined` if the connection broke. */
export async function unlessBroken<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
