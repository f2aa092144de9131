import type { ObjectInstance } from "./objects.ts";
import type { Task } from "./platform.ts";
import type { SimulatedWorld } from "./simulated-world.ts";
import type { Executed, Sqlite, Written } from "./sqlite.ts";

/** **A D1 database**, as it is bound for the code of a task: a query is one message in each direction; a batch is one transaction. */
export function databaseFor(
  world: SimulatedWorld,
  taskOf: () => Task,
  from: ObjectInstance | undefined,
  database: Sqlite = world.d1,
): D1Database {
  const execute = (statements: readonly Written[]): Promise<readonly Executed[]> => {
    const task = taskOf();
    const { promise, resolve, reject } = Promise.withResolvers<readonly Executed[]>();
    const fail = () => {
      if (world.chance(0.5)) world.after(world.delay(), () => world.deliver(task, () => reject(new Error("lost"))));
    };
    const respond = (settle: () => void) => {
      const deliver = () => {
        from?.hold(-1);
        world.deliver(task, settle);
      };
      world.send("D1", task.machine, deliver, fail);
    };
    const run = () => {
      try {
        const executed = database.transaction(() => statements.map((statement) => database.run(statement)));
        respond(() => resolve(executed));
      } catch (error) {
        respond(() => reject(error));
      }
    };
    from?.hold(1);
    world.meter?.queried();
    // A query that arrives twice is executed once.
    let isDone = false;
    const once = () => {
      if (isDone) return;
      isDone = true;
      run();
    };
    const send = () => world.send(task.machine, "D1", once, fail);
    if (from === undefined) send();
    else from.whenDurable(send);
    return promise;
  };
  const statement = (written: Written): D1PreparedStatement => {
    const one = async () => toResult((await execute([written]))[0]!);
    return Object.assign(Object.create(null), {
      written,
      bind: (...values: unknown[]) => statement({ ...written, values }),
      all: one,
      run: one,
      first: async () => (await one()).results[0] ?? null,
    });
  };
  return Object.assign(Object.create(null), {
    prepare: (sql: string) => statement({ sql, values: [] }),
    batch: async (statements: readonly { readonly written: Written }[]) =>
      (await execute(statements.map(({ written }) => written))).map(toResult),
  });
}

function toResult({ rows, changes }: Executed) {
  return { success: true, results: rows.map((row) => ({ ...row })), meta: { changes } };
}
