import { DurableObject } from "cloudflare:workers";

/** The methods that a class has itself: the base declares optional ones. */
type MethodName<Implementation> = Exclude<
  {
    [Name in keyof Implementation]-?: Partial<Pick<Implementation, Name>> extends Pick<Implementation, Name>
      ? never
      : Name;
  }[keyof Implementation],
  keyof Rpc.DurableObjectBranded
>;

/**
 * **An object class whose code is loaded by the first object of an isolate**: an isolate that answers requests, or has objects of other classes,
 * neither parses nor evaluates it. The platform finds methods on the prototype, so they are named here; a missing one is a type error. Calls and
 * alarms wait in `blockConcurrencyWhile` until the code is loaded, as they wait for a constructor: no method is interrupted. The next objects of the
 * isolate start at once.
 */
export function objectOnFirstUse<Implementation extends DurableObject>(
  load: () => Promise<new (ctx: DurableObjectState, env: never) => Implementation>,
  methods: Readonly<Record<MethodName<Implementation>, true>>,
): new (
  ctx: DurableObjectState,
  env: never,
) => DurableObject {
  let loaded: Awaited<ReturnType<typeof load>> | undefined;

  class ObjectOnFirstUse extends DurableObject {
    object!: Implementation;

    constructor(ctx: DurableObjectState, env: never) {
      super(ctx, env);
      if (loaded !== undefined) this.object = new loaded(ctx, env);
      else
        void ctx.blockConcurrencyWhile(async () => {
          // Begun before, the import would wait for the end of this block.
          loaded = await load();
          this.object = new loaded(ctx, env);
          // Its constructor may have begun to read: this one begins when that has ended.
          await ctx.blockConcurrencyWhile(async () => {});
        });
    }
  }

  for (const method of Object.keys(methods)) {
    const call = function (this: ObjectOnFirstUse, ...args: unknown[]): unknown {
      return Reflect.apply(Reflect.get(this.object, method) as (...args: unknown[]) => unknown, this.object, args);
    };
    Object.defineProperty(ObjectOnFirstUse.prototype, method, { value: call, configurable: true, writable: true });
  }
  return ObjectOnFirstUse as ReturnType<typeof objectOnFirstUse<Implementation>>;
}
