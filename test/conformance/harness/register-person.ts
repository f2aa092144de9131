import { randomUUID } from "node:crypto";
import type { Actors } from "./actors.ts";
import { Person } from "./person.ts";

const password = "a long enough password";

export interface RegisteredPerson {
  readonly sub: string;
  readonly username: string;
  /** A browser that nobody has used yet, with this person before it. */
  browser(viaFetch?: typeof fetch): Person;
}

/** **A user who can sign in.** */
export async function registerPerson(
  actors: Actors,
  claims: Readonly<Record<string, unknown>> = {},
): Promise<RegisteredPerson> {
  const username = `person-${randomUUID()}`;
  const sub = await actors.user({ username, password, claims });
  return {
    sub,
    username,
    browser: (viaFetch) => new Person(actors.issuer, { username, password }, viaFetch),
  };
}

/** A value for every claim that a scope asks for. */
export const everyClaim = {
  name: "Pat Person",
  given_name: "Pat",
  family_name: "Person",
  middle_name: "Q",
  nickname: "Patty",
  preferred_username: "pat",
  profile: "https://people.example.com/pat",
  picture: "https://people.example.com/pat.png",
  website: "https://pat.example.com",
  gender: "unspecified",
  birthdate: "1990-04-01",
  zoneinfo: "Europe/Paris",
  locale: "en-GB",
  email: "pat@example.com",
  email_verified: true,
  phone_number: "+33 1 23 45 67 89",
  phone_number_verified: true,
  address: { street_address: "1 Rue de Rivoli", locality: "Paris", postal_code: "75001", country: "France" },
} as const;
