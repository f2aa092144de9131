import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";

/** **Calls a Worker's app as the platform would**: with an execution context whose background work is waited for. */
export interface FetchApp<Env> {
  fetch(request: Request, env: Env, execution: ExecutionContext): Response | Promise<Response>;
}

export const origin = "https://op.example.com";

export async function call<Env>(app: FetchApp<Env>, env: Env, path: string, init?: RequestInit): Promise<Response> {
  const execution = createExecutionContext();
  const response = await app.fetch(new Request(`${origin}${path}`, init), env, execution);
  await waitOnExecutionContext(execution);
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
