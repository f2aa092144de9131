/**
 * **Waits for a promise, but no longer than `ms`**: then what `late` returns, or throws. The timer goes as soon as the promise
 * settles. `setTimeout` rather than `scheduler.wait` with an `AbortSignal`: each abort makes an exception with a stack trace,
 * which with what follows from it was a sixth of the CPU of a refresh.
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
