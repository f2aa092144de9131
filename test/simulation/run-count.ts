/**
 * **How many random runs a test makes, or for how long**: `npm test` takes the first number, so that it takes minutes; `npm test -- --all`, and a run
 * of the file by its name, take the second. The mutants have fixed seeds, and both catch each of them.
 */
export function runCount(usual: number, all: number): number {
  return process.env["LONG_TESTS"] === "off" ? usual : all;
}
