import { limits } from "../config/limits.ts";
import { UnavailableError } from "../oauth/errors.ts";
import { within } from "../runtime/deadline.ts";

/**
 * **Runs D1 work within a time limit**; whatever it throws, and lateness, is unavailability. A write that is late may still be carried out:
 * its caller answers 503, which says as much.
 */
export async function queryDatabase<T>(work: () => Promise<T>, timeoutMs: number = limits.databaseCallMs): Promise<T> {
  try {
    return await within(timeoutMs, work(), () => {
      throw new Error(`no response within ${timeoutMs} ms`);
    });
  } catch (cause) {
    throw cause instanceof UnavailableError ? cause : new UnavailableError("D1", cause);
  }
}
