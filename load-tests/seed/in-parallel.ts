/** **Runs a task for each item, a few at a time**; the first failure stops it. */
export async function inParallel<T>(
  items: Iterable<T>,
  limit: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  let failed = false;
  const worker = async () => {
    for (let next = waiting.next(); !next.done && !failed; next = waiting.next()) {
      try {
        await task(next.value);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
}

/** Waits for the Retry-After of a 503 or 429 and retries a few times, so that seeding is only as fast as the provider allows. */
export async function patiently<T extends { readonly status: number; readonly headers: Headers }>(
  send: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const response = await send();
    if ((response.status !== 503 && response.status !== 429) || attempt === 8) return response;
    const seconds = Number(response.headers.get("retry-after") ?? "1");
    await new Promise((resolve) => setTimeout(resolve, Math.min(10, seconds) * 1000));
  }
}
