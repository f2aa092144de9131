import { readFileSync } from "node:fs";
import type { Seed, SeedClient, SeedUser } from "./seed.ts";

export class SeedError extends Error {
  override readonly name = "SeedError";
}

type Members = Readonly<Record<string, unknown>>;

/**
 * **Reads a seed file**: `{"clients": {…}, "users": {…}, "roles": {…}, "resources": {…}}`, each optional. This module checks its form; the admin API
 * checks metadata and claims. An error names the member. docs/test-provider.md has an example.
 */
export function readSeedFile(path: string): Seed {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new SeedError(`${path} cannot be read: ${(error as Error).message}`);
  }
  try {
    return checkSeed(JSON.parse(text));
  } catch (error) {
    throw new SeedError(`${path}: ${(error as Error).message}`);
  }
}

export function checkSeed(value: unknown): Seed {
  const { clients, users, roles, resources } = known("the seed", value, ["clients", "users", "roles", "resources"]);
  return {
    clients: mapped("clients", clients, checkClient),
    users: mapped("users", users, checkUser),
    roles: mapped("roles", roles, texts),
    resources: mapped("resources", resources, members),
  };
}

/** All other members are metadata. */
function checkClient(name: string, value: unknown): SeedClient {
  const { client_secret: secret, ...metadata } = members(name, value);
  if (secret === undefined) return { metadata };
  const given = text(`${name}.client_secret`, secret);
  if (given.length < 16) throw new SeedError(`${name}.client_secret: at least 16 characters are needed`);
  return { metadata, client_secret: given };
}

function checkUser(name: string, value: unknown): SeedUser {
  const { password, claims, roles, groups } = known(name, value, ["password", "claims", "roles", "groups"]);
  return {
    password: text(`${name}.password`, password),
    ...(claims === undefined ? {} : { claims: members(`${name}.claims`, claims) }),
    ...(roles === undefined ? {} : { roles: texts(`${name}.roles`, roles) }),
    ...(groups === undefined ? {} : { groups: texts(`${name}.groups`, groups) }),
  };
}

function mapped<T>(name: string, value: unknown, check: (name: string, value: unknown) => T): Record<string, T> {
  const entries = Object.entries(value === undefined ? {} : members(name, value));
  return Object.fromEntries(entries.map(([key, each]) => [key, check(`${name}.${key}`, each)]));
}

function members(name: string, value: unknown): Members {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members;
  throw new SeedError(`${name}: an object is required, not ${JSON.stringify(value)}`);
}

function known(name: string, value: unknown, names: readonly string[]): Members {
  const given = members(name, value);
  const unknown = Object.keys(given).find((member) => !names.includes(member));
  if (unknown === undefined) return given;
  throw new SeedError(`${name}: there is no member "${unknown}"; it may have ${names.join(", ")}`);
}

function text(name: string, value: unknown): string {
  if (typeof value === "string" && value !== "") return value;
  throw new SeedError(`${name}: a text is required, not ${JSON.stringify(value)}`);
}

function texts(name: string, value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.map((each, index) => text(`${name}[${index}]`, each));
  throw new SeedError(`${name}: a list of texts is required, not ${JSON.stringify(value)}`);
}
