import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import type { FieldError } from "@edge-op/protocol/oauth/errors";
import { validate } from "@edge-op/shared/http/require-valid";
import { nowMs } from "@edge-op/shared/runtime/clock";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminCall, type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { exampleOf } from "../admin/examples.ts";
import { mayBeConflict } from "../admin/optimistic-concurrency.ts";
import { findWithoutPermissions, refuseGreaterRoles, requireAuthorityOverRoles } from "../roles/role-authority.ts";
import { type CheckedLine, checkLines } from "./check-lines.ts";
import { type UserLine, userLineSchema } from "./import-schema.ts";
import { insertLines } from "./insert-lines.ts";

const mostLines = 500;

/** A line that is no user: the others are imported. */
class InvalidLine {
  readonly faults: readonly FieldError[];

  constructor(input: unknown) {
    const result = validate(userLineSchema, input);
    this.faults = result.valid ? [] : result.fields;
  }
}

const anyLine: z.ZodType<UserLine | InvalidLine, z.input<typeof userLineSchema>> = userLineSchema;
const lineSchema = anyLine.catch((context) => {
  // The description of the API asks for a default, without a line.
  return (context as typeof context | undefined) === undefined ? (undefined as never) : new InvalidLine(context.value);
});

const resultSchema = z
  .strictObject({
    result: z
      .enum(["created", "exists", "refused"])
      .describe("`exists`: a user with this sub and username is there already, and stays as it is."),
    fields: z
      .array(z.strictObject({ path: z.string(), message: z.string() }))
      .exactOptional()
      .describe("Why the line is refused."),
  })
  .meta({ id: "LineResult", examples: [{ result: "created" }] });

const importSchema = z
  .strictObject({
    created: z.int().describe("Users that were created; with `dry_run`, that would be."),
    exists: z.int(),
    refused: z.int(),
    without_permissions: z
      .array(z.string())
      .exactOptional()
      .describe("Roles of the lines that give no permission here, and groups that give no role: `role editor`."),
    digest: z.string().describe("SHA-256 of the created lines, base64url, as in the audit log."),
    results: z.array(resultSchema).describe("In the order of the lines."),
  })
  .meta({
    id: "ImportResult",
    examples: [
      {
        ...{ created: 1, exists: 0, refused: 0, digest: "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU" },
        results: [exampleOf(resultSchema)],
      },
    ],
  });

const importUsers = defineRoute({
  method: "POST",
  path: "/import/users",
  operationId: "importUsers",
  summary:
    "Imports up to 500 users with their credentials, all or nothing for each line: those that are there already stay, and those that are refused are named with the reason. A repeated request changes nothing more.",
  scope: "admin:users",
  body: z
    .strictObject({
      users: z.array(lineSchema).min(1).max(mostLines),
      dry_run: z.boolean().exactOptional().describe("Only say what would happen."),
    })
    .meta({ id: "UserImport" }),
  response: { status: 200, description: "The result of each line.", schema: importSchema },
  async handle(call) {
    const { users, dry_run: isDryRun = false } = call.body;
    const lines = users.map((line) => (line instanceof InvalidLine ? undefined : line));
    const [roles, groups] = listed(lines.map((line) => ({ line })));
    if (roles.length + groups.length > 0) await requireAuthorityOverRoles(call, roles, groups);
    const without = await findWithoutPermissions(call.context.env.DB, roles, groups);
    const { checked, digest } = await importLines(call, lines, isDryRun);
    const results = users.map((line, index) =>
      line instanceof InvalidLine
        ? ({ result: "refused", fields: [...line.faults] } as const)
        : resultOf(checked[index]!),
    );
    const count = (result: (typeof results)[number]["result"]) =>
      results.filter((each) => each.result === result).length;
    const counts = { created: count("created"), exists: count("exists"), refused: count("refused") };
    return { body: { ...counts, ...(without.length === 0 ? {} : { without_permissions: without }), digest, results } };
  },
});

function resultOf(checked: CheckedLine) {
  if (checked.kind === "refused") return { result: "refused", fields: [...checked.faults] } as const;
  return { result: checked.kind === "new" ? "created" : "exists" } as const;
}

/** Every role, and every group, of the lines. */
function listed(lines: readonly { readonly line: UserLine | undefined }[]): [roles: string[], groups: string[]] {
  const all = (member: "roles" | "groups") => [...new Set(lines.flatMap(({ line }) => line?.[member] ?? []))];
  return [all("roles"), all("groups")];
}

type Call = Pick<AdminCall<unknown, unknown>, "context" | "actor">;

interface Imported {
  readonly checked: readonly (CheckedLine | undefined)[];
  readonly digest: string;
}

/** Commits the new users of a batch together. If a name was taken between the check and the commit, the batch is checked again. */
async function importLines(
  call: Call,
  lines: readonly (UserLine | undefined)[],
  isDryRun: boolean,
  newBefore = Number.POSITIVE_INFINITY,
  cause?: unknown,
): Promise<Imported> {
  const { env } = call.context;
  const checked = await checkLines(env, lines);
  const prepared = checked.flatMap((each) => (each?.kind === "new" ? [each.prepared] : []));
  // Nothing was taken, so the commit failed for another reason.
  if (prepared.length >= newBefore) throw cause;
  const digest = encodeBase64Url(await sha256(JSON.stringify(prepared.map(({ line }) => line))));
  if (isDryRun || prepared.length === 0) return { checked, digest };
  const refused = checked.filter((each) => each?.kind !== "new" && each?.kind !== "exists").length;
  const detail = { created: prepared.length, exists: lines.length - prepared.length - refused, refused };
  try {
    await commitChange(call, {
      statements: [...(await insertLines(env, prepared, nowMs())), refuseGreaterRoles(call, ...listed(prepared))],
      forget: [],
      event: { action: "import.users", target: digest, detail },
    });
  } catch (error) {
    if (!mayBeConflict(error)) throw error;
    return importLines(call, lines, isDryRun, prepared.length, error);
  }
  return { checked, digest };
}

/** Cost: 4 D1 calls, one of them a transaction; 1 more with roles or groups. No control change: nobody knows the subs yet. */
export const importRoutes: readonly AdminRoute[] = [importUsers];
