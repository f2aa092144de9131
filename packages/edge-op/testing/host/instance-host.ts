import { randomBytes } from "node:crypto";
import { adminClientId, adminClientRow, clientSecretStatements, writeAdminClient } from "../../src/admin-client.ts";
import type { Builds } from "../../src/builds.ts";
import { applySeed, type Seeded } from "../../src/demo/apply-seed.ts";
import type { Seed } from "../../src/demo/seed.ts";
import { type Forwarder, forwardPort } from "../../src/dev/run-development.ts";
import { Mailbox, type SentMail } from "../../src/mailbox.ts";
import { openToAgents } from "../../src/run-provider.ts";
import type { LogLine } from "../../src/runtime-process.ts";
import type { Statement } from "../../src/store-worker.ts";
import { type Execute, emptyDatabase, readImage } from "./database-image.ts";
import { InstanceRuntime, slotCount } from "./instance-runtime.ts";

export interface InstanceOptions {
  readonly seed: Seed;
  /** Settings of the Workers. */
  readonly settings: Readonly<Record<string, string>>;
  /** The origin of the hooks of the test process. */
  readonly hooks?: string | undefined;
}

export interface CreatedInstance extends Seeded {
  readonly name: string;
  readonly origin: string;
  readonly admin: { readonly client_id: string; readonly client_secret: string };
}

interface Template extends Seeded {
  readonly images: Readonly<Record<DatabaseName, readonly Statement[]>>;
}

const databases = ["DB", "AUDIT_DB"] as const;
type DatabaseName = (typeof databases)[number];

/** A mail to an address, after those that are known. */
export interface WantedMail {
  readonly to: string;
  readonly known: number;
}

/** Mails are sent by an alarm soon after the change. */
const mailWaitMs = 10_000;

interface Running {
  readonly slot: number;
  readonly forwarder: Forwarder;
}

/**
 * **Creates and ends instances.** The first one with a seed is set up through the public API like every deployment. Its databases are then copied, so
 * that the next ones need no migration and no password hash.
 */
export class InstanceHost {
  readonly #runtime: InstanceRuntime;
  readonly #builds: Builds;
  readonly #mailbox: Mailbox;
  /** All instances of the host share it; each has its own keys. */
  readonly #secrets = {
    OP_MASTER_KEY: randomBytes(32).toString("base64url"),
    adminClientSecret: randomBytes(32).toString("base64url"),
  };
  readonly #templates = new Map<string, Promise<Template>>();
  readonly #running = new Map<string, Running>();
  readonly #freeSlots = Array.from({ length: slotCount }, (_, slot) => slot);
  #created = 0;

  private constructor(runtime: InstanceRuntime, builds: Builds, mailbox: Mailbox) {
    this.#runtime = runtime;
    this.#mailbox = mailbox;
    this.#builds = builds;
  }

  static async start(builds: Builds, onLog: (line: LogLine) => void): Promise<InstanceHost> {
    return new InstanceHost(
      await InstanceRuntime.start(await builds.instances(), onLog),
      builds,
      await Mailbox.start(),
    );
  }

  async create({ seed, settings, hooks }: InstanceOptions): Promise<CreatedInstance> {
    const key = JSON.stringify(seed);
    const template = this.#templates.get(key) ?? this.#makeTemplate(seed);
    this.#templates.set(key, template);
    template.catch(() => this.#templates.delete(key));
    const { images, clients, users } = await template;
    const created = await this.#open({ settings, hooks }, (execute, database) => execute(images[database]));
    return { ...created, clients, users };
  }

  async #makeTemplate(seed: Seed): Promise<Template> {
    const { name, origin, admin } = await this.#open({ settings: {} }, async (execute, database) => {
      const migrations = await this.#builds.migrations(database);
      await execute(migrations.flatMap(({ statements }) => statements.map((sql) => ({ sql }))));
    });
    try {
      const execute = this.#executorOf(this.#running.get(name)!.slot);
      const auditImage = await readImage(execute("AUDIT_DB"));
      const setClientSecret = async (clientId: string, secret: string) => {
        await execute("DB")(await clientSecretStatements(this.#secrets.OP_MASTER_KEY, clientId, secret));
      };
      const seeded = await applySeed({ origin, admin, setClientSecret }, seed);
      const image = await readImage(execute("DB"));
      return { ...seeded, images: { DB: image, AUDIT_DB: auditImage } };
    } finally {
      await this.end(name);
    }
  }

  #executorOf(slot: number): (database: DatabaseName) => Execute {
    return (database) => async (statements) =>
      (await this.#runtime.order({ kind: "execute", slot, database, statements })) as Awaited<ReturnType<Execute>>;
  }

  /** `fill` creates the tables of the databases. */
  async #open(
    { settings, hooks }: Pick<InstanceOptions, "settings" | "hooks">,
    fill: (execute: Execute, database: DatabaseName) => Promise<unknown>,
  ): Promise<Omit<CreatedInstance, keyof Seeded>> {
    const slot = this.#freeSlots.shift();
    if (slot === undefined) throw new Error(`more than ${slotCount} test providers at a time: close some`);
    const forwarder = await forwardPort("127.0.0.1", 0, this.#runtime.port);
    this.#created += 1;
    const name = `i${this.#created}`;
    this.#running.set(name, { slot, forwarder });
    try {
      const origin = `http://localhost:${forwarder.port}`;
      const { OP_MASTER_KEY, adminClientSecret } = this.#secrets;
      const executor = this.#executorOf(slot);
      const row = await adminClientRow(origin, OP_MASTER_KEY, adminClientSecret);
      await Promise.all(databases.map((database) => fill(executor(database), database)));
      await executor("DB")(writeAdminClient(row, Date.now()).map((sql) => ({ sql })));
      const mail = this.#mailbox.variables(name);
      const variables = { ...openToAgents, ...mail, ...settings, ISSUER: origin, OP_MASTER_KEY };
      await this.#runtime.order({ kind: "register", instance: { name, slot, port: forwarder.port, variables, hooks } });
      return { name, origin, admin: { client_id: adminClientId, client_secret: adminClientSecret } };
    } catch (error) {
      forwarder.close();
      this.#running.delete(name);
      throw error;
    }
  }

  async fail(name: string, bindings: readonly string[]): Promise<void> {
    await this.#runtime.order({ kind: "fail", name, bindings });
  }

  async advance(name: string, byMs: number): Promise<void> {
    await this.#runtime.order({ kind: "advance", name, byMs });
  }

  mails(name: string): readonly SentMail[] {
    return this.#mailbox.mails(name);
  }

  /** See {@link Mailbox.wait}. */
  waitForMail(name: string, { to, known }: WantedMail): Promise<readonly SentMail[]> {
    return this.#mailbox.wait(name, to, known, mailWaitMs);
  }

  async end(name: string): Promise<void> {
    const running = this.#running.get(name);
    if (running === undefined) return;
    this.#running.delete(name);
    running.forwarder.close();
    this.#mailbox.forget(name);
    const { slot } = running;
    await this.#runtime.order({ kind: "unregister", name });
    const executor = this.#executorOf(slot);
    await Promise.all([
      ...databases.map((database) => emptyDatabase(executor(database))),
      this.#runtime.order({ kind: "clearCache", slot }),
    ]);
    this.#freeSlots.push(slot);
  }

  async stop(): Promise<void> {
    for (const { forwarder } of this.#running.values()) forwarder.close();
    this.#mailbox.close();
    await this.#runtime.stop();
  }
}
