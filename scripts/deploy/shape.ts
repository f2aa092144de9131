import { type Shape, scriptOf, shapes, type WorkerName, workers } from "../../packages/edge-op/src/workers.ts";
import type { Environment } from "./environment.ts";

/** **The Workers of an environment by its shape** (ADR 32), in the order of their deployment. */
export function workersOf({ shape }: Pick<Environment, "shape">): readonly (typeof shapes)[Shape][number][] {
  return shapes[shape];
}

/** The Worker that defines the object classes. */
export function objectsWorker({ shape }: Pick<Environment, "shape">): WorkerName {
  return shape === "compact" ? "op-compact" : "op-state";
}

/** The Worker that has the issuer's host. */
export function frontWorker({ shape }: Pick<Environment, "shape">): WorkerName {
  return shape === "compact" ? "op-compact" : "op";
}

export function hasSecret(name: WorkerName): boolean {
  return name !== "op";
}

/** Every script that the environment may have, in either shape: the compact Worker has the name of op-state. */
export function scriptsOf({ prefix }: Environment): ReadonlySet<string> {
  return new Set(workers.map(({ name }) => deployedWorkerName(prefix, name)));
}

/** `op-token` → `<prefix>-token`, `op` → `<prefix>`; the compact Worker has the name of op-state. */
export function deployedWorkerName(prefix: string, name: WorkerName): string {
  return name === "op" ? prefix : `${prefix}-${scriptOf(name).replace(/^op-/, "")}`;
}
