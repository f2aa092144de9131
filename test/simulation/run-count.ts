/**
 * **How many random runs a simulation makes**: `npm test` makes the first number, so that it takes ten minutes; `npm test -- --all`, and a run of the file
 * by its name, make the second. The mutants have fixed seeds, and both catch each of them.
 */
export function runCount(usual: number, all: number): number {
  return process.env["LONG_TESTS"] === "off" ? usual : all;
}
