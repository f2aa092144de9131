import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type * as z from "zod";
import { Failure, usageFailure } from "./failure.ts";

/** **Reads a file of JSON or YAML.** JSON is YAML, so the name does not matter. */
export function readDocument(path: string): unknown {
  return parseDocument(readText(path), path);
}

/** A token or password from a file, without the end of its line. */
export function readSecret(path: string): string {
  return readText(path).trim();
}

export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw usageFailure(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Parses YAML 1.2 core: dates stay texts. Aliases are bounded by the parser, and a repeated member is an error. */
export function parseDocument(text: string, name: string): unknown {
  try {
    return parse(text) as unknown;
  } catch (error) {
    throw usageFailure(`${name} is neither JSON nor YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** **Reads a response by its schema.** A response of another form is a failure that names it and its first wrong member. */
export function requireForm<Schema extends z.ZodType>(what: string, schema: Schema, body: unknown): z.output<Schema> {
  const { data, error } = schema.safeParse(body);
  if (error === undefined) return data as z.output<Schema>;
  const [{ path, message } = { path: [], message: "" }] = error.issues;
  const member = path.length === 0 ? "" : `${path.join(".")}: `;
  throw new Failure("refused", `${what} has another form than expected. ${member}${message}`);
}
