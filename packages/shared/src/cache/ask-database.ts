import { UnavailableError } from "../oauth/errors.ts";

/** Runs D1 work; whatever it throws is unavailability. */
export async function askDatabase<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new UnavailableError("D1", cause);
  }
}
