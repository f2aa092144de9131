/**
 * **Waits for a promise for at most `ms`**; after that, returns or throws the result of `late`. The timer is cleared when the promise settles. Uses
 * `setTimeout` rather than `scheduler.wait` with an `AbortSignal`: each abort creates an exception with a stack trace, which was a sixth of the CPU
 * of a refresh.
 */
export function within<T, Late>(ms: number, promise: Promise<T>, late: () => Late): Promise<T | Late> {
  const { promise: result, resolve, reject } = Promise.withResolvers<T | Late>();
  const timer = setTimeout(() => {
    try {
      resolve(late());
    } catch (error) {
      reject(error);
    }
  }, ms);
  promise.then(
    (value) => {
      clearTimeout(timer);
      resolve(value);
    },
    (error: unknown) => {
      clearTimeout(timer);
      reject(error);
    },
  );
  return result;
}
