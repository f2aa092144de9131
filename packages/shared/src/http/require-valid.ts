import { type FieldError, OAuthError, type OAuthErrorCode } from "@edge-op/protocol/oauth/errors";
import type * as z from "zod";

/**
 * **Validates input by a schema**; a refusal names every invalid field, the first one in its description. Messages state the
 * requirement and never repeat a value, which may be a password.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-3.2.2
 */
export function requireValid<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  errorCode: (fields: readonly FieldError[]) => OAuthErrorCode = () => "invalid_request",
): z.output<Schema> {
  const result = validate(schema, input);
  if (result.valid) return result.data;
  throw invalidFields(result.fields, errorCode);
}

export type Validation<Value> =
  | { readonly valid: true; readonly data: Value }
  | { readonly valid: false; readonly fields: readonly FieldError[] };

export function validate<Schema extends z.ZodType>(schema: Schema, input: unknown): Validation<z.output<Schema>> {
  const result = schema.safeParse(input, { reportInput: true });
  if (result.success) return { valid: true, data: result.data };
  return { valid: false, fields: result.error.issues.flatMap(describeIssue) };
}

/** The members of a body that have faults: `redirect_uris[0]` counts as `redirect_uris`. */
export function wrongMembers(fields: readonly FieldError[]): ReadonlySet<string> {
  return new Set(fields.map(({ path }) => path.split(/[.[]/, 1)[0] ?? ""));
}

/** Names and paths in a body are chosen by the caller, so they are bounded before they are returned. */
const mostFields = 32;
const longestName = 64;

export function invalidFields(
  fields: readonly FieldError[],
  errorCode: (fields: readonly FieldError[]) => OAuthErrorCode = () => "invalid_request",
): OAuthError {
  const shown = fields.slice(0, mostFields);
  const first = shown[0]!;
  return new OAuthError(errorCode(shown), "fields-invalid", {
    detail: `${first.path}: ${first.message}`,
    description: first.path === "" ? `The request ${first.message}.` : `${first.path}: ${first.message}`,
    fields: shown,
  });
}

/** `["redirect_uris", 0]` as `redirect_uris[0]`. */
function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    const name = String(part).slice(0, longestName);
    return text === "" ? name : `${text}.${name}`;
  }, "");
}

function describeIssue(issue: z.core.$ZodIssue): FieldError[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({ path: formatPath([...issue.path, key]), message: "is not a known field" }));
  }
  // A discriminated union with an invalid discriminator has no candidate forms.
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    // Among the candidate forms, the intended one is the first whose type matches.
    const meant = issue.errors.find(([first]) => first?.code !== "invalid_type" || first.path.length > 0);
    return (meant ?? issue.errors[0] ?? []).flatMap((inner) =>
      describeIssue({ ...inner, path: [...issue.path, ...inner.path] }),
    );
  }
  return [{ path: formatPath(issue.path), message: describe(issue) }];
}

const expectedNames: Readonly<Record<string, string>> = {
  array: "an array",
  boolean: "true or false",
  int: "a whole number",
  number: "a number",
  object: "an object",
  record: "an object",
  string: "a string",
};

function describe(issue: z.core.$ZodIssue): string {
  const missing = !("input" in issue) || issue.input === undefined;
  switch (issue.code) {
    case "invalid_type":
      if (issue.expected === "never") return issue.message;
      return missing ? "is required" : `must be ${expectedNames[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return missing ? "is required" : `must be one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      return `must be at least ${issue.minimum}${unit(issue.origin)}`;
    case "too_big":
      return `must be at most ${issue.maximum}${unit(issue.origin)}`;
    default:
      return issue.message;
  }
}

function unit(origin: string): string {
  if (origin === "string") return " characters long";
  return origin === "array" ? " values long" : "";
}
