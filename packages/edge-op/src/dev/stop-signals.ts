const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * **Stops cleanly** on Ctrl-C, SIGTERM, SIGHUP, or when the parent process has ended (its channel closes). `stop` runs once; a second signal more
 * than a second later ends the process at once. The returned function registers for the signals again, because Miniflare exits on them without
 * waiting and registers its listeners whenever a runtime starts.
 */
export function onStop(stop: (reason: string) => Promise<void>): () => void {
  let askedAt: number | undefined;
  const ask = (reason: string): void => {
    if (askedAt !== undefined) {
      // One Ctrl-C reaches this process twice: from the terminal and through the parent.
      if (performance.now() - askedAt > 1000) process.exit(1);
      return;
    }
    askedAt = performance.now();
    stop(reason).then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  const claim = (): void => {
    for (const signal of signals) {
      process.removeAllListeners(signal);
      process.on(signal, () => ask(signal));
    }
  };
  claim();
  process.on("disconnect", () => ask("parent gone"));
  // Listening for the parent must not keep a finished script alive.
  process.channel?.unref();
  return claim;
}
