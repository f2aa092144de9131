import type { Connection } from "../connection/connection.ts";
import { Failure, usageFailure } from "../console/failure.ts";
import type { ApiDocument } from "../operations/api-document.ts";
import type { Difference } from "./find-differences.ts";
import { type Change, remainingDifferences } from "./make-plan.ts";

export interface Applied {
  /** Secrets of new clients, by `client_id`. They cannot be read again. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Members that the provider stores in another form than declared, by `kind.name`. */
  readonly remaining: Readonly<Record<string, readonly Difference[]>>;
}

/**
 * **Makes the changes of a plan, one after the other.** Each changes only the version that the plan has read, so of two at once one is refused. It
 * stops at the first failure, whose detail has the secrets of clients that were created before it; applying again continues. Before the first one, it
 * reads the secrets that the changes need from environment variables.
 */
export async function applyChanges(
  connection: Connection,
  document: ApiDocument,
  changes: readonly Change[],
  environment: Readonly<Record<string, string | undefined>>,
  onProgress: (change: Change) => void,
): Promise<Applied> {
  const secrets: Record<string, string> = {};
  const remaining: Record<string, readonly Difference[]> = {};
  const given = changes.map((change) => ({ ...change.request, body: withSecrets(change, environment) }));
  for (const [made, change] of changes.entries()) {
    const name = `${change.kind.name}.${change.name}`;
    try {
      const { body } = await connection.send(given[made]!);
      if (typeof body["client_secret"] === "string") secrets[change.name] = body["client_secret"];
      const left = change.action === "delete" ? [] : remainingDifferences(document, change, body);
      if (left.length > 0) remaining[name] = left;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const advice = adviceFor(error);
      const message = `${name}: ${error.message}\n${made} of ${changes.length} changes are made. ${advice}`;
      throw new Failure(error.outcome, message, { ...error.detail, made, secrets }, { cause: error });
    }
    onProgress(change);
  }
  return { secrets, remaining };
}

function adviceFor({ outcome, message }: Failure): string {
  if (outcome === "conflict") return "It was changed after it was read. Apply again to continue.";
  if (message.includes("keep_holders")) return "Apply with --keep-holders if they shall have them.";
  return outcome === "refused" ? "Change the declaration, and apply again to continue." : "Apply again to continue.";
}

/** The body of a request with its secrets. */
function withSecrets(
  { kind, name, request: { body }, secrets = {} }: Change,
  environment: Readonly<Record<string, string | undefined>>,
): unknown {
  const values = Object.entries(secrets).map(([member, variable]) => {
    const value = environment[variable];
    if (value === undefined || value === "")
      throw usageFailure(`${kind.name}.${name}: the environment variable ${variable} is not set. Nothing was changed.`);
    return [member, value];
  });
  return values.length === 0 ? body : { ...(body as object), ...Object.fromEntries(values) };
}
