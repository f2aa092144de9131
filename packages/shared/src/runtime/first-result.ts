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
