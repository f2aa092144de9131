import { UnusableResult } from "./call-hook.ts";

export interface ValueLimits {
  /** Characters and members, roughly the bytes of its JSON. */
  readonly size: number;
  /** How deep lists and objects are nested. */
  readonly depth: number;
}

/**
 * **A copy of a value that a hook returned, as JSON has it.** An RPC can return what JSON cannot: cycles, dates, maps, functions, stubs, numbers without a
 * value. Each part counts, also one that is there twice, so that the copy is bounded before it is made. `undefined` members are left out.
 */
export function plainValue(value: unknown, { size, depth }: ValueLimits): unknown {
  let left = size;
  const take = (amount: number) => {
    left -= amount;
    if (left < 0) throw new UnusableResult("the result is too large");
  };
  const copy = (each: unknown, deep: number): unknown => {
    take(1);
    if (each === null || typeof each === "boolean") return each;
    if (typeof each === "string") {
      take(each.length);
      return each.isWellFormed() ? each : unusable("a text that is not Unicode");
    }
    if (typeof each === "number") {
      take(String(each).length);
      // JSON has no negative zero.
      return Number.isFinite(each) ? each + 0 : unusable("a number that JSON does not have");
    }
    if (typeof each !== "object") return unusable(`a ${typeof each}`);
    if (deep >= depth) throw new UnusableResult("the result is nested too deeply");
    if (Array.isArray(each)) return Array.from(each, (item) => copy(item, deep + 1));
    const prototype: unknown = Object.getPrototypeOf(each);
    if (prototype !== Object.prototype && prototype !== null) return unusable("an object that is not plain");
    const members = Object.entries(each).filter(([, member]) => member !== undefined);
    return Object.fromEntries(
      members.map(([name, member]) => {
        take(name.length + 3);
        // As a member of a literal it would set the prototype of a reader's copy.
        if (name === "__proto__") return unusable("a member __proto__");
        return [name, copy(member, deep + 1)];
      }),
    );
  };
  return copy(value, 0);
}

function unusable(what: string): never {
  throw new UnusableResult(`the result contains ${what}`);
}
