import type { Miniflare } from "miniflare";

/** **Calls a Worker that was added to the provider's**, for operations that Miniflare lacks or can only do by blocking this process. */
export async function callHelper(runtime: Miniflare, name: string, path = "/", message?: unknown): Promise<unknown> {
  const worker = await runtime.getWorker(name);
  const init = message === undefined ? {} : { method: "POST", body: JSON.stringify(message) };
  const response = await worker.fetch(`http://${name}${path}`, init);
  if (!response.ok) throw new Error(`the Worker ${name} responds with ${response.status}: ${await response.text()}`);
  return response.json();
}
