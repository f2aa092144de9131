/**
 * **The clock, the timers and the random values of the platform**, for code that runs in a simulation. The product reads `Date.now`, sets timers and
 * takes random values as it does when it is deployed; here each belongs to the {@link Task} in which the code runs, wherever promises continue it.
 * Code outside a task uses those of Node.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { createHash, timingSafeEqual } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "./simulated-time.ts";

export interface Machine {
  readonly clock: Clock;
  isAlive: boolean;
  frozenUntilMs: number;
  /** In real time: the clock's reading at that moment is returned until the next event is delivered, as on the platform. */
  readsAtMs: number | undefined;
}

/** A unit that the platform ends at once: a request, or an instance of an object. Its timers and pending calls end with it. */
export interface Task {
  readonly machine: Machine;
  readonly timeline: Timeline;
  isOver: boolean;
  /** Notes that a timer begins (1) or ends (−1): an object with one does not hibernate. */
  hold?: (change: 1 | -1) => void;
}

export interface Timeline {
  readonly nowMs: number;
  random(): number;
  /** Runs after `delayMs` in real time. */
  after(delayMs: number, run: () => void): void;
  /** Runs in the task when its machine runs: later if it is frozen, never if it has ended. */
  deliver(task: Task, run: () => void): void;
}

const current = new AsyncLocalStorage<Task>();

export function runIn<T>(task: Task, run: () => T): T {
  return current.run(task, run);
}

export function currentTask(): Task {
  const task = current.getStore();
  if (task === undefined) throw new Error("this code runs outside of a task");
  return task;
}

/** The current reading of the machine's clock. */
export function readClock({ clock, readsAtMs }: Machine, nowMs: number): number {
  return clock.read(readsAtMs ?? nowMs);
}

/** Operations of Web Crypto that Node carries out in other threads. */
let ciphering = 0;

/** Resolves when nothing can continue without another event. */
export async function settled(): Promise<void> {
  // Node runs every promise that can continue before it runs this.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  while (ciphering > 0) {
    await setImmediate();
    await new Promise<void>((resolve) => process.nextTick(resolve));
  }
}

const cryptoMethods = [
  "digest",
  "sign",
  "verify",
  "encrypt",
  "decrypt",
  "deriveBits",
  "deriveKey",
  "generateKey",
  "importKey",
  "exportKey",
] as const;

/** An RSA key takes longer to generate than a run, so all runs use the same keys. */
const slowKeys = new Map<string, unknown>();
const generated = new WeakMap<Timeline, number>();

function awaitCrypto(): () => void {
  const subtle = Object.getPrototypeOf(crypto.subtle);
  const originals = cryptoMethods.map((name) => [name, subtle[name]] as const);
  // In the order in which they began, so that a run is determined by its seed.
  let last: Promise<unknown> = Promise.resolve();
  for (const [name, original] of originals) {
    subtle[name] = function (...args: unknown[]) {
      ciphering += 1;
      const result = Promise.allSettled([original.apply(this, args), last]).then(([own]) => {
        ciphering -= 1;
        if (own.status === "rejected") throw own.reason;
        return own.value;
      });
      last = result;
      return result;
    };
  }
  const { generateKey } = subtle;
  subtle.generateKey = async function (algorithm: { readonly name: string }, ...args: unknown[]) {
    const task = current.getStore();
    const generate = () => generateKey.call(this, algorithm, ...args);
    if (task === undefined || !algorithm.name.startsWith("RSA")) return generate();
    const number = generated.get(task.timeline) ?? 0;
    generated.set(task.timeline, number + 1);
    const name = `${JSON.stringify(algorithm)} ${number}`;
    if (!slowKeys.has(name)) slowKeys.set(name, await generate());
    return slowKeys.get(name);
  };
  // Frequently used, and fast.
  subtle.digest = async (_: string, data: Uint8Array) => {
    const { buffer, byteOffset, byteLength } = createHash("sha256").update(data).digest();
    return buffer.slice(byteOffset, byteOffset + byteLength);
  };
  // Node has it elsewhere.
  subtle.timingSafeEqual = timingSafeEqual;
  return () => {
    Object.assign(subtle, Object.fromEntries(originals));
    delete subtle.timingSafeEqual;
  };
}

class SimulatedTimer {
  readonly #task: Task;
  isOver = false;

  constructor(task: Task) {
    this.#task = task;
    task.hold?.(1);
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#task.hold?.(-1);
  }
}

function startTimer(task: Task, run: () => void, ms: number): SimulatedTimer {
  const timer = new SimulatedTimer(task);
  const { timeline, machine } = task;
  timeline.after(machine.clock.realDuration(Math.max(0, ms)), () => {
    timeline.deliver(task, () => {
      if (timer.isOver) return;
      run();
      timer.end();
    });
  });
  return timer;
}

const hex = (random: () => number) =>
  Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, "0");

function randomUuid(random: () => number): `${string}-${string}-${string}-${string}-${string}` {
  return `${hex(random)}-${hex(random).slice(4)}-4${hex(random).slice(5)}-8${hex(random).slice(5)}-${hex(random)}${hex(random).slice(4)}`;
}

/** Replaces the globals of Node with ones that belong to the task in which they are used. Returns a function that restores them. */
export function installPlatform(): () => void {
  const real = { now: Date.now, random: Math.random, setTimeout, clearTimeout, info: console.info, warn: console.warn };
  const { error } = console;
  const uuid = crypto.randomUUID;
  const bytes = crypto.getRandomValues;
  Date.now = () => {
    const task = current.getStore();
    return task === undefined ? real.now() : readClock(task.machine, task.timeline.nowMs);
  };
  Math.random = () => current.getStore()?.timeline.random() ?? real.random();
  crypto.randomUUID = () => {
    const task = current.getStore();
    return task === undefined ? uuid.call(crypto) : randomUuid(() => task.timeline.random());
  };
  crypto.getRandomValues = (array) => {
    const task = current.getStore();
    if (task === undefined || !(array instanceof Uint8Array)) return bytes.call(crypto, array) as typeof array;
    for (let index = 0; index < array.length; index += 1) array[index] = Math.floor(task.timeline.random() * 256);
    return array;
  };
  const timers: Record<string, unknown> = {
    setTimeout: (run: () => void, ms = 0, ...args: []) => {
      const task = current.getStore();
      return task === undefined ? real.setTimeout(run, ms, ...args) : startTimer(task, run, ms);
    },
    clearTimeout: (timer: SimulatedTimer | ReturnType<typeof setTimeout>) => {
      if (timer instanceof SimulatedTimer) timer.end();
      else real.clearTimeout(timer);
    },
    scheduler: {
      wait: (ms: number) => new Promise<void>((resolve) => void startTimer(currentTask(), resolve, ms)),
    },
  };
  Object.assign(globalThis, timers);
  const restoreCrypto = awaitCrypto();
  // The product's log.
  for (const level of ["info", "warn", "error"] as const) {
    const original = console[level];
    console[level] = (...args) => {
      if (current.getStore() === undefined) original(...args);
    };
  }
  return () => {
    restoreCrypto();
    Date.now = real.now;
    Math.random = real.random;
    crypto.randomUUID = uuid;
    crypto.getRandomValues = bytes;
    Object.assign(globalThis, { setTimeout: real.setTimeout, clearTimeout: real.clearTimeout });
    Object.assign(console, { info: real.info, warn: real.warn, error });
  };
}
