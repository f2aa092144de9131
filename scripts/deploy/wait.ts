export interface WaitOptions {
  readonly what: string;
  readonly everyMs: number;
  readonly atMostMs: number;
}

/** **Waits for a fact**, never for a time: `look` returns what is still missing, or `undefined`. The wait is bounded; the last fault is the error. */
export async function waitFor(look: () => Promise<string | undefined>, options: WaitOptions): Promise<void> {
  const until = Date.now() + options.atMostMs;
  for (let shown: string | undefined; ; ) {
    const missing = await attempt(look);
    if (missing === undefined) return;
    if (Date.now() + options.everyMs > until) {
      throw new Error(`${options.what}: after ${Math.round(options.atMostMs / 1000)} s still ${missing}`);
    }
    if (shown !== missing) console.log(`  waiting for ${options.what}: ${missing}`);
    shown = missing;
    await new Promise((resolve) => setTimeout(resolve, options.everyMs));
  }
}

/** The result of `run` once it stops failing, for requests that can be repeated. */
export async function resultOf<T>(run: () => Promise<T>, options: WaitOptions): Promise<T> {
  let result: { readonly value: T } | undefined;
  await waitFor(async () => {
    result = { value: await run() };
    return undefined;
  }, options);
  return result!.value;
}

/** No failure is final while the deployment is spreading. */
async function attempt(look: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await look();
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : "";
    return `${error instanceof Error ? error.message : String(error)}${cause}`;
  }
}
