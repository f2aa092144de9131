/** By request; entries go with their request. */
const operations = new WeakMap<object, string>();

/**
 * **One name for what a request spends**: the same however often its decision runs again or its call is repeated after a
 * lost reply, and never the caller's to choose. Objects recognise their own earlier answer by it.
 */
export function operationId(context: object): string {
  const known = operations.get(context);
  if (known !== undefined) return known;
  const id = crypto.randomUUID();
  operations.set(context, id);
  return id;
}
