/** Per request; an entry is collected with its request. */
const operations = new WeakMap<object, string>();

/**
 * **The id of the operation that a request performs**: the same however often its decision is repeated or a call is sent again after a lost response,
 * and never chosen by the caller. Objects use it to find their own earlier result.
 */
export function operationId(context: object): string {
  const known = operations.get(context);
  if (known !== undefined) return known;
  const id = crypto.randomUUID();
  operations.set(context, id);
  return id;
}
