import { isNumber, isText, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { formatScope } from "@edge-op/protocol/oauth/scope";
import { limits } from "@edge-op/shared/config/limits";
import { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { ChallengeKind } from "@edge-op/shared/storage/challenges";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";

/**
 * **Parameters stored for the next request**: pushed by a client (RFC 9126), or posted by a browser from another site. Such a post is sent
 * without Lax cookies, so it is redirected to a GET, which is sent with them. Cost: 1 object call per function.
 */
export interface StoredParameters {
  readonly parameters: Form;
  /** The client that authenticated and pushed them; `undefined` if a browser posted them. */
  readonly pushedBy: string | undefined;
}

type ParameterKind = Extract<ChallengeKind, "authorization-request" | "logout-request">;

/** The values of each parameter, by its name. */
export type ParameterValues = readonly (readonly [string, readonly string[]])[];

interface StoredForm {
  readonly values: ParameterValues;
  readonly pushedBy?: string;
  readonly opensUntilMs: number;
}

export interface ParameterLifetime {
  /** The time in which they may be opened. */
  readonly openMs: number;
  /** The time for which they are kept after that, so that they can be spent. */
  readonly keptMs?: number;
}

export function isParameterValues(value: unknown): value is ParameterValues {
  const isPair = (pair: unknown) => Array.isArray(pair) && isText(pair[0]) && listOf(isText)(pair[1]);
  return listOf((pair): pair is ParameterValues[number] => isPair(pair))(value);
}

const isStoredForm = objectOf<StoredForm>({ values: isParameterValues, opensUntilMs: isNumber });

/** The parameters with these names that a form has. */
export function parameterValues(parameters: Form, names: readonly string[]): ParameterValues {
  return names.map((name) => [name, parameters.all(name)] as const).filter(([, all]) => all.length > 0);
}

export async function storeParameters(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  kind: ParameterKind,
  names: readonly string[],
  { parameters, pushedBy }: StoredParameters,
  { openMs, keptMs = 0 }: ParameterLifetime,
): Promise<string> {
  const values = parameterValues(parameters, names);
  const opensUntilMs = context.arrivedAtMs + openMs;
  const stored: StoredForm = { values, opensUntilMs, ...(pushedBy === undefined ? {} : { pushedBy }) };
  const text = JSON.stringify(stored);
  if (pushedBy === undefined && text.length > limits.postedParametersBytes) {
    throw new OAuthError("request_too_large", "posted-parameters-too-long");
  }
  return isolate.challenges.put(context, kind, text, opensUntilMs + keptMs);
}

/** The parameters with the scope that remains of the requested one: nothing else of it is stored. */
export function withScope(parameters: Form, scope: readonly string[]): Form {
  return parameters.get("scope") === undefined ? parameters : parameters.with("scope", formatScope(scope));
}

/** Reads them without deleting them; `undefined` for an id that is unknown, spent or expired. */
export async function openParameters(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  kind: ParameterKind,
  id: string,
): Promise<StoredParameters | undefined> {
  return toParameters(context, await isolate.challenges.peek(context, kind, id));
}

/** Whether they are neither spent nor forgotten, opened or not. */
export async function areParametersKept(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  kind: ParameterKind,
  id: string,
): Promise<boolean> {
  return (await isolate.challenges.peek(context, kind, id)) !== undefined;
}

/** Reads and deletes them: of concurrent callers, one receives them. */
export async function takeParameters(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  kind: ParameterKind,
  id: string,
): Promise<StoredParameters | undefined> {
  return toParameters(context, await isolate.challenges.take(context, kind, id));
}

function toParameters(context: RequestContext<AuthEnv>, text: string | undefined): StoredParameters | undefined {
  if (text === undefined) return undefined;
  const { values, pushedBy, opensUntilMs } = readStored("parameters", text, isStoredForm);
  if (opensUntilMs <= context.arrivedAtMs) return undefined;
  return { parameters: new Form(new Map(values)), pushedBy };
}
