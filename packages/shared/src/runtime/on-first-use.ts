/**
 * **A part of a Worker that is loaded when a request first needs it.** `load` calls `import()` with a constant path, so the part is a module of its
 * own in the upload (`bundle-worker.ts`), and an isolate that never needs it neither parses nor evaluates it. Until a load has ended, each request
 * loads for itself, because a request must not wait for a promise of another request; the platform evaluates a module only once. Afterwards the part
 * is returned without a promise.
 */
export function onFirstUse<Part>(load: () => Promise<Part>): () => Part | Promise<Part> {
  let loaded: { readonly part: Part } | undefined;
  const loadNow = async (): Promise<Part> => {
    const part = await load();
    loaded ??= { part };
    return loaded.part;
  };
  return () => (loaded === undefined ? loadNow() : loaded.part);
}
