import type { FieldError } from "@edge-op/protocol/oauth/errors";
import { isWebUri } from "@edge-op/protocol/oauth/uris";
import { plainText } from "@edge-op/shared/http/plain-text";
import { invalidFields, requireValid, validate } from "@edge-op/shared/http/require-valid";
import { attributeDocumentSchema } from "@edge-op/shared/users/attribute-schema";
import type { AttributeDocument, UserAttributes } from "@edge-op/shared/users/attributes";
import * as z from "zod";

/** The largest values of one user, as JSON: they are part of tokens. */
const mostValueBytes = 4096;

/** The members that only some types have. */
export const membersOfTypes = {
  format: ["string", "strings"],
  max_length: ["string", "strings"],
  values: ["string", "strings"],
  max_items: ["strings"],
  minimum: ["number"],
  maximum: ["number"],
} as const satisfies Partial<Record<keyof AttributeDocument, readonly AttributeDocument["type"][]>>;

/** **Validates the declaration of an attribute**, with every fault. `known`: the one that it replaces. */
export function requireAttribute(input: unknown, known?: AttributeDocument): AttributeDocument {
  const document = requireValid(attributeDocumentSchema, input);
  const { type, minimum, maximum, claim } = document;
  const foreign = Object.entries(membersOfTypes).filter(([name, types]) => name in document && !isOneOf(types, type));
  const faults = [
    ...foreign.map(([path, types]) => ({ path, message: `belongs to the types ${types.join(", ")}` })),
    ...fault(known !== undefined && known.type !== type, "type", "cannot be changed"),
    ...fault((minimum ?? 0) > (maximum ?? Number.POSITIVE_INFINITY), "minimum", "must not be greater than maximum"),
    ...fault(
      claim?.resources !== undefined && !claim.tokens.includes("access_token"),
      "claim.resources",
      "belongs to access_token",
    ),
  ];
  if (faults.length > 0) throw invalidFields(faults);
  return document;
}

function isOneOf(types: readonly string[], type: string): boolean {
  return types.includes(type);
}

function fault(broken: boolean, path: string, message: string): FieldError[] {
  return broken ? [{ path, message }] : [];
}

const formats: Readonly<Record<NonNullable<AttributeDocument["format"]>, z.ZodType<string, string>>> = {
  date: z.iso.date("must be a date (YYYY-MM-DD)"),
  "date-time": z.iso.datetime({ offset: true, error: "must be a date and time (RFC 3339)" }),
  email: z.email("must be an e-mail address"),
  phone: z.e164("must be a phone number (E.164)"),
  uri: z.string().refine(isWebUri, "must be an https URL"),
  uuid: z.guid("must be a UUID"),
};

function isAmong(values: readonly string[]): (text: string) => boolean {
  return (text) => values.includes(text);
}

/** The schema of an attribute's values. A text is checked for its length first, so that no form costs more than that. */
function valueSchema({ type, format, max_length: longest = 255, ...rest }: AttributeDocument): z.ZodType {
  const { values, max_items: most = 20, minimum, maximum } = rest;
  if (type === "boolean") return z.boolean();
  if (type === "number")
    return z
      .number()
      .min(minimum ?? -Number.MAX_VALUE)
      .max(maximum ?? Number.MAX_VALUE);
  const bounded = plainText(longest);
  const formed: z.ZodType<string, string> = format === undefined ? bounded : bounded.pipe(formats[format]);
  const text = values === undefined ? formed : formed.refine(isAmong(values), `must be one of ${values.join(", ")}`);
  if (type === "string") return text;
  return z
    .array(text)
    .max(most)
    .refine((list) => new Set(list).size === list.length, "must not repeat a value");
}

/** **Checks the values of a user that a request writes**: refuses those of unknown attributes and those that the declarations do not allow. */
export function requireValues(
  written: UserAttributes,
  declared: ReadonlyMap<string, AttributeDocument>,
  all: UserAttributes,
): void {
  const faults = Object.entries(written).flatMap(([name, value]): FieldError[] => {
    const document = declared.get(name);
    if (document === undefined) return [{ path: `attributes.${name}`, message: "is not a declared attribute" }];
    const validation = validate(z.strictObject({ attributes: z.strictObject({ [name]: valueSchema(document) }) }), {
      attributes: { [name]: value },
    });
    return validation.valid ? [] : [...validation.fields];
  });
  if (new TextEncoder().encode(JSON.stringify(all)).length > mostValueBytes) {
    faults.push({ path: "attributes", message: `must be at most ${mostValueBytes} bytes as JSON` });
  }
  if (faults.length > 0) throw invalidFields(faults);
}
