import { limits } from "../config/limits.ts";
import { OAuthError } from "../oauth/errors.ts";

/** RFC 8693 §2.1 and RFC 8707 §2 let these be repeated; RFC 6749 §3.2 forbids it for all others. */
const repeatable = new Set(["audience", "resource"]);
const tokenParameters = new Set([
  "token",
  "subject_token",
  "actor_token",
  "assertion",
  "client_assertion",
  "access_token",
]);

const nothing: ReadonlySet<string> = new Set();

/** **A form, read once**: one value a name, except the repeatable ones. Empty values count as absent (RFC 6749 §3.2). */
export class Form {
  readonly #values: ReadonlyMap<string, readonly string[]>;
  /** Given more than once against the rule. They have no value here: nobody could say which one is meant. */
  readonly repeated: ReadonlySet<string>;

  constructor(values: ReadonlyMap<string, readonly string[]>, repeated = nothing) {
    this.#values = values;
    this.repeated = repeated;
  }

  get(name: string): string | undefined {
    return this.#values.get(name)?.[0];
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  require(name: string): string {
    const value = this.get(name);
    if (value === undefined) {
      if (this.repeated.has(name)) throw repeats(name);
      throw new OAuthError("invalid_request", `${name} missing`, { description: `The parameter ${name} is missing.` });
    }
    return value;
  }
}

/** {@link collectParameters}, refusing repeats. */
export function parseParameters(parameters: URLSearchParams): Form {
  const form = collectParameters(parameters);
  refuseRepeats(form);
  return form;
}

/** RFC 6749 §3.1, §3.2: "parameters MUST NOT be included more than once". */
export function refuseRepeats({ repeated }: Form): void {
  for (const name of repeated) throw repeats(name);
}

function repeats(name: string): OAuthError {
  return new OAuthError("invalid_request", `${name} repeated`, {
    description: "The request repeats a parameter that may be given once.",
  });
}

/** Sorts parameters into a {@link Form}, refusing too many of them and oversized tokens; repeats are for the caller to refuse. */
export function collectParameters(parameters: URLSearchParams): Form {
  const values = new Map<string, string[]>();
  const repeated = new Set<string>();
  let count = 0;
  for (const [name, value] of parameters) {
    count += 1;
    if (count > limits.formParameters) throw new OAuthError("invalid_request", "too many parameters");
    if (tokenParameters.has(name) && value.length > limits.tokenBytes) {
      throw new OAuthError("request_too_large", `${name} has ${value.length} characters`);
    }
    const seen = values.get(name);
    if (seen !== undefined && !repeatable.has(name)) {
      repeated.add(name);
      values.set(name, []);
      continue;
    }
    if (value === "") {
      if (seen === undefined && !repeatable.has(name)) values.set(name, []);
      continue;
    }
    if (seen === undefined) values.set(name, [value]);
    else seen.push(value);
  }
  return new Form(values, repeated);
}

/** Whether the body's length is declared, and so enforced by the platform; 413 for one that is too long. */
function isDeclared(request: Request, maxBytes: number): boolean {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > maxBytes) throw new OAuthError("request_too_large", `${declared} bytes declared`);
  return declared > 0;
}

/** A body that breaks off or is framed wrongly is its sender's fault, and no failure of ours. */
async function whole<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    if (cause instanceof OAuthError) throw cause;
    throw new OAuthError("invalid_request", `body: ${String(cause)}`, { description: "The body is not complete." });
  }
}

/** A body of undeclared length, chunk by chunk, so that no more is held than allowed. */
async function readStream(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new OAuthError("request_too_large", `more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  const body = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    body.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return body;
}

/** The media type of the body without its parameters, lower case. */
function mediaType(request: Request): string {
  return (request.headers.get("content-type") ?? "").split(";", 1)[0]!.trim().toLowerCase();
}

/**
 * **Reads an `application/x-www-form-urlencoded` body.** Refuses other media types, bodies over 64 KiB (413 before
 * parsing), over 64 parameters and, unless `parse` keeps them, repeats.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-3.2
 */
export async function readForm(request: Request, parse = parseParameters): Promise<Form> {
  if (mediaType(request) !== "application/x-www-form-urlencoded") {
    throw new OAuthError("invalid_request", "wrong media type", {
      description: "The body must be application/x-www-form-urlencoded.",
    });
  }
  // `request.body` is not touched where the length is known: making the stream costs more than reading it.
  const text = isDeclared(request, limits.formBodyBytes)
    ? await whole(request.text())
    : new TextDecoder().decode(await whole(readStream(request, limits.formBodyBytes)));
  return parse(new URLSearchParams(text));
}

/** **Reads a JSON body** of at most 256 KiB for the admin API; `accepted` are its media types, the first one preferred. */
export async function readJson(
  request: Request,
  accepted: readonly [string, ...string[]] = ["application/json"],
): Promise<unknown> {
  if (!accepted.includes(mediaType(request))) {
    throw new OAuthError("invalid_request", "wrong media type", { description: `The body must be ${accepted[0]}.` });
  }
  const body = isDeclared(request, limits.jsonBodyBytes)
    ? await whole(request.arrayBuffer())
    : await whole(readStream(request, limits.jsonBodyBytes));
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(body));
  } catch (cause) {
    throw new OAuthError("invalid_request", `body is not JSON: ${String(cause)}`, {
      description: "The body is not JSON.",
    });
  }
}
