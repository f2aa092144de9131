import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";

/** **Calls a Worker's app as the platform would**: with an execution context whose background work is waited for, but for renewals. */
export interface FetchApp<Env> {
  fetch(request: Request, env: Env, execution: ExecutionContext): Response | Promise<Response>;
}

export const origin = "https://op.example.com";

/** Copies are written to KV well within this; the renewals of a lease go on for as long as it is used. */
const backgroundMs = 100;
const background = new Set<Promise<void>>();

/** Waits for the work that a request leaves behind. What goes on for longer ends by {@link endBackground}. */
export async function waitBriefly(execution: ExecutionContext): Promise<void> {
  const work = waitOnExecutionContext(execution).finally(() => background.delete(work));
  background.add(work);
  await Promise.race([work, scheduler.wait(backgroundMs)]);
}

/** Resolves when no request of this file has background work left: leases that are not used are released. */
export async function endBackground(): Promise<void> {
  while (background.size > 0) await Promise.all(background);
}

export async function call<Env>(app: FetchApp<Env>, env: Env, path: string, init?: RequestInit): Promise<Response> {
  const execution = createExecutionContext();
  const response = await app.fetch(new Request(`${origin}${path}`, init), env, execution);
  await waitBriefly(execution);
  return response;
}

export type FormFields = Readonly<Record<string, string | readonly string[]>>;

/** Posts a form; `basic` authenticates by `client_secret_basic`. */
export function postForm<Env>(
  app: FetchApp<Env>,
  env: Env,
  path: string,
  fields: FormFields,
  basic?: { readonly clientId: string; readonly clientSecret: string },
): Promise<Response> {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const item of typeof value === "string" ? [value] : value) body.append(name, item);
  }
  const headers: Record<string, string> = { "content-type": "application/x-www-form-urlencoded" };
  if (basic !== undefined) headers["authorization"] = basicHeader(basic.clientId, basic.clientSecret);
  return call(app, env, path, { method: "POST", headers, body: body.toString() });
}

/** @see https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1 */
export function basicHeader(clientId: string, secret: string): string {
  return `Basic ${btoa(`${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`)}`;
}
