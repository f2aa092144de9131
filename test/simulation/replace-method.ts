/** Reverts a mutant. */
export type Restore = () => void;

/** Replaces an accessor with a value. */
export function replaceValue<T extends object, Name extends keyof T & string>(
  { prototype }: { readonly prototype: T },
  name: Name,
  value: T[Name],
): Restore {
  const before = Object.getOwnPropertyDescriptor(prototype, name)!;
  Object.defineProperty(prototype, name, { configurable: true, value });
  return () => void Object.defineProperty(prototype, name, before);
}

export function restoreAll(restores: readonly Restore[]): Restore {
  return () => {
    for (const restore of restores.toReversed()) restore();
  };
}

type Method = (...args: never[]) => unknown;
type MethodName<T> = { [Name in keyof T]: T[Name] extends Method ? Name : never }[keyof T] & string;

/** Replaces a method with one that receives the object, the original, and the arguments. */
export function around<T extends object, Name extends MethodName<T>>(
  { prototype }: { readonly prototype: T },
  name: Name,
  replacement: T[Name] extends Method
    ? (self: T, original: T[Name], ...args: Parameters<T[Name]>) => ReturnType<T[Name]>
    : never,
): Restore {
  const before = Object.getOwnPropertyDescriptor(prototype, name);
  const original: unknown = before?.value ?? prototype[name];
  if (typeof original !== "function") throw new Error(`there is no method ${name} to replace`);
  const value = function (this: T, ...args: never[]): unknown {
    return Reflect.apply(replacement, undefined, [this, original.bind(this), ...args]);
  };
  Object.defineProperty(prototype, name, { writable: true, configurable: true, ...before, value });
  return () => {
    // An inherited method is found again.
    if (before === undefined) Reflect.deleteProperty(prototype, name);
    else Object.defineProperty(prototype, name, before);
  };
}
