import { longestToken } from "@edge-op/protocol/jwt/decode-claims";
import { OAuthError, shownValue } from "@edge-op/protocol/oauth/errors";
import { limits } from "../config/limits.ts";
import type { ReceivedRequest } from "./received-request.ts";

/** The parameters of a form or a query, in their order. */
type FormPairs = Iterable<readonly [name: string, value: string]>;

/**
 * **Decodes `application/x-www-form-urlencoded` text**, with the result of `URLSearchParams` for every text (form-pairs.test.ts). The class is used
 * for texts with a percent sign that does not begin an encoded character, because the rules for those are long. For all other texts, decoding here
 * saves a runtime object and one call per parameter.
 *
 * @see https://url.spec.whatwg.org/#concept-urlencoded-parser
 */
export function formPairs(text: string): FormPairs {
  // The constructor of the class discards a leading question mark.
  if (text.startsWith("?")) return new URLSearchParams(text);
  const pairs: [string, string][] = [];
  for (const part of text.split("&")) {
    if (part === "") continue;
    const equals = part.indexOf("=");
    const name = decode(equals < 0 ? part : part.slice(0, equals));
    const value = equals < 0 ? "" : decode(part.slice(equals + 1));
    if (name === undefined || value === undefined) return new URLSearchParams(text);
    pairs.push([name, value]);
  }
  return pairs;
}

function decode(text: string): string | undefined {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return undefined;
  }
}

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

/** Reads parameters of a form by name: those that the type names. */
export interface FormReader<Name extends string> {
  readonly get: (name: Name) => string | undefined;
  readonly all: (name: Name) => readonly string[];
  readonly require: (name: Name) => string;
}

/** **A form, read once**: one value a name, except the repeatable ones. Empty values count as absent (RFC 6749 §3.2). */
export class Form implements FormReader<string> {
  readonly #values: ReadonlyMap<string, readonly string[]>;
  /** Parameters that must not be repeated but are. They have no value here, because it is undefined which one is meant. */
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

  /** The names of all parameters, those without a value included. */
  get names(): readonly string[] {
    return [...this.#values.keys()];
  }

  /** The form with another value of one parameter. */
  with(name: string, value: string): Form {
    return new Form(new Map([...this.#values, [name, [value]]]), this.repeated);
  }

  /** The form with these parameters alone. */
  only<Name extends string>(names: readonly Name[]): FormReader<Name> {
    return new Form(new Map(names.map((name) => [name, this.all(name)])), this.repeated);
  }

  require(name: string): string {
    const value = this.get(name);
    if (value === undefined) {
      if (this.repeated.has(name)) throw repeats(name);
      throw new OAuthError("invalid_request", "parameter-missing", {
        detail: `${name} missing`,
        description: `The parameter ${name} is missing.`,
      });
    }
    return value;
  }
}

/** {@link collectParameters}, refusing repeats. */
export function parseParameters(parameters: FormPairs): Form {
  const form = collectParameters(parameters);
  refuseRepeats(form);
  return form;
}

/** RFC 6749 §3.1, §3.2: "parameters MUST NOT be included more than once". */
export function refuseRepeats({ repeated }: Form): void {
  for (const name of repeated) throw repeats(name);
}

function repeats(name: string): OAuthError {
  return new OAuthError("invalid_request", "parameter-repeated", {
    detail: `${name} repeated`,
    description: `The parameter ${shownValue(name)} is repeated; it may appear only once.`,
  });
}

/** Collects parameters into a {@link Form}; refuses too many parameters and oversized tokens. The caller refuses repeats. */
export function collectParameters(parameters: FormPairs): Form {
  const values = new Map<string, string[]>();
  const repeated = new Set<string>();
  let count = 0;
  for (const [name, value] of parameters) {
    count += 1;
    if (count > limits.formParameters) throw new OAuthError("invalid_request", "parameters-too-many");
    if (tokenParameters.has(name) && value.length > longestToken) {
      throw new OAuthError("request_too_large", "token-parameter-too-long", {
        detail: `${name} has ${value.length} characters`,
      });
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

const utf8 = new TextDecoder();

/**
 * **Parses an `application/x-www-form-urlencoded` body.** Refuses what {@link ReceivedRequest} did not accept (other media types, bodies
 * over 64 KiB or too slow), over 64 parameters and, unless `parse` keeps them, repeats.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-3.2
 */
export function readForm(request: ReceivedRequest, parse = parseParameters): Form {
  const body = request.requireBody();
  return parse(formPairs(typeof body === "string" ? body : utf8.decode(body)));
}

/** **Parses a JSON body** of at most 256 KiB, for the admin API. */
export function readJson(request: ReceivedRequest): unknown {
  const value = parseJson(request.requireBody());
  refusePrototype(value);
  return value;
}

function parseJson(body: string | ArrayBuffer): unknown {
  try {
    return JSON.parse(
      typeof body === "string" ? body : new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(body),
    );
  } catch {
    // The message of the exception would contain part of the body, which may be a password.
    throw new OAuthError("invalid_request", "body-not-json", { description: "The body is not JSON." });
  }
}

/** Refuses a member `__proto__`, which schemas drop without an error: a condition of that name would be lost and its protection with it. */
function refusePrototype(value: unknown): void {
  const remaining = [value];
  for (let next = remaining.pop(); next !== undefined; next = remaining.pop()) {
    if (typeof next !== "object" || next === null) continue;
    if (Object.hasOwn(next, "__proto__")) {
      throw new OAuthError("invalid_request", "body-has-proto-member", {
        description: "The body contains a member __proto__.",
      });
    }
    for (const member of Object.values(next)) if (typeof member === "object" && member !== null) remaining.push(member);
  }
}
