import type * as z from "zod";
import { Failure } from "./failure.ts";

/** **Reads a response by its schema.** A response of another form is a failure that names it and its first wrong member. */
export function requireForm<Schema extends z.ZodType>(what: string, schema: Schema, body: unknown): z.output<Schema> {
  const { data, error } = schema.safeParse(body);
  if (error === undefined) return data as z.output<Schema>;
  const [{ path, message } = { path: [], message: "" }] = error.issues;
  const member = path.length === 0 ? "" : `${path.join(".")}: `;
  throw new Failure("refused", `${what} has another form than expected. ${member}${message}`);
}
