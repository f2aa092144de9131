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

/**
 * **Returns the first result of several attempts**: the next attempt begins when one has failed, or when none has settled for `patienceMs`. Rejects
 * with the last failure when all have failed. It has no time limit, so call it within one.
 */
export function firstResult<T>(ways: readonly (() => Promise<T>)[], patienceMs: number): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let begun = 0;
  let failed = 0;
  let stopTimer = (): void => {};
  const begin = (): void => {
    stopTimer();
    const way = ways[begun];
    if (way === undefined) return;
    begun += 1;
    if (begun < ways.length) {
      const timer = setTimeout(begin, patienceMs);
      stopTimer = () => clearTimeout(timer);
    }
    way().then(
      (result) => {
        begun = ways.length;
        stopTimer();
        resolve(result);
      },
      (error: unknown) => {
        failed += 1;
        if (failed === ways.length) reject(error);
        else begin();
      },
    );
  };
  begin();
  return promise;
}
